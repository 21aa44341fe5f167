#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a compiler through ccache. Without CCACHE_SLOPPINESS, ccache keeps nothing that includes a precompiled header;
# without CCACHE_DEPEND, it preprocesses each source before it compiles it.
CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 exec ccache "$@"
