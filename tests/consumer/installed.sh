#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs Millrace, builds an application and a plugin with what was installed, and runs both, and the installed tool,
# where the build tree is not to be seen: nothing of it may be needed.
# usage: installed.sh BUILD_TREE [CMAKE_OPTION...]    the options are the application's
# environment: CMAKE, LIBDIR and RELEASE (1 when the build has no debug information, which names the build tree)
set -euo pipefail
build_tree=$1
shift
source_tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/installed" && pwd)
unset MILLRACE_LLVM_MODULE
# Resolved, as the applications print it.
work=$(realpath "$(mktemp -d)")
hidden_module=
clean_up() {
  if [[ -n $hidden_module ]]; then mv "$hidden_module" "$build_tree/libmillrace_llvm.so"; fi
  rm -rf "$work"
}
trap clean_up EXIT

fail() {
  echo "installed: $*" >&2
  exit 1
}

# usage: expect CODE TEXT COMMAND...    the command's exit code and its output
expect() {
  local code=0 text
  text=$("${@:3}" 2>&1) || code=$?
  [[ $code == "$1" && $text == "$2" ]] || fail "${*:3}"$'\n'"found $code: $text"$'\n'"expected $1: $2"
}

# usage: expect_like CODE PATTERN COMMAND...    the same, with a pattern of the shell for the output
expect_like() {
  local code=0 text
  text=$("${@:3}" 2>&1) || code=$?
  # shellcheck disable=SC2053
  [[ $code == "$1" && $text == $2 ]] || fail "${*:3}"$'\n'"found $code: $text"$'\n'"expected $1: $2"
}

# usage: check_links FILE    of Markdown; links to other hosts are left alone, and so is code
check_links() {
  local link
  while read -r link; do
    [[ -e $(dirname "$1")/$link ]] || fail "$1 links to $link, which is not installed"
  done < <(awk '/^```/ { is_code = !is_code } !is_code' "$1" | grep -oP '\]\(\K(?!https?:)[^)#]+')
}

"$CMAKE" --install "$build_tree" --prefix "$work/prefix" >"$work/install.log"
if [[ $RELEASE == 1 ]] && grep -rlF -e "$build_tree" "$work/prefix"; then
  fail "the files above name the build tree $build_tree"
fi
documents=$work/prefix/share/doc/millrace
for file in LICENSE README.md CHANGELOG.md CONTRIBUTING.md docs/graphs.md docs/shipping.md; do
  [[ -s $documents/$file ]] || fail "share/doc/millrace/$file is not installed"
done
list_recipes() { (cd "$1" && find . -type f ! -name CMakeLists.txt ! -name '*.sh' | sort); }
lacking=$(diff <(list_recipes "$source_tree/../../../examples") <(list_recipes "$documents/examples")) ||
  fail "not all recipes are installed: $lacking"
while read -r file; do check_links "$file"; done < <(find "$documents" -name '*.md')

"$CMAKE" -S "$source_tree" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" "$@" >"$work/configure.log" ||
  fail "configuring: $(cat "$work/configure.log")"
"$CMAKE" --build "$work/build" >"$work/build.log" || fail "building: $(cat "$work/build.log")"
"$CMAKE" --install "$work/build" --prefix "$work/app" >>"$work/build.log"

# The project that shipping.md shows.
mkdir "$work/shown"
cp "$source_tree"/../{main.cpp,plugin.cpp,run_graph.h} "$work/shown"
{
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(shown LANGUAGES CXX)\n'
  awk '/^```/ { is_shown = $0 == "```cmake"; next } is_shown' "$documents/docs/shipping.md"
} >"$work/shown/CMakeLists.txt"
grep -q find_package "$work/shown/CMakeLists.txt" || fail "docs/shipping.md shows no project"
"$CMAKE" -S "$work/shown" -B "$work/shown/build" -DCMAKE_PREFIX_PATH="$work/prefix" "$@" >"$work/shown.log" &&
  "$CMAKE" --build "$work/shown/build" >>"$work/shown.log" || fail "docs/shipping.md: $(cat "$work/shown.log")"

# Mangled, the namespace is 8millrace.
shown=$(nm --dynamic --defined-only "$work/app/plugins/plugin.so")
[[ $shown == *" T plugin_main"* ]] || fail "the plugin does not show plugin_main: $shown"
[[ $shown != *8millrace* ]] || fail "the plugin shows symbols of Millrace: $shown"

# A mount namespace hides the build tree from one command. Where none is to be had, its module is moved away meanwhile;
# that no installed file names the build tree is tested above.
if unshare --mount true 2>/dev/null; then
  hidden=(unshare --mount)
elif unshare --map-root-user --mount true 2>/dev/null; then
  hidden=(unshare --map-root-user --mount)
else
  echo "installed: no mount namespaces here; the build tree's module is moved away instead"
  hidden=(env)
  if [[ -e $build_tree/libmillrace_llvm.so ]]; then
    hidden_module=$build_tree/libmillrace_llvm.so.hidden
    mv "$build_tree/libmillrace_llvm.so" "$hidden_module"
  fi
fi
if [[ ${hidden[0]} == unshare ]]; then
  # shellcheck disable=SC2016
  hidden+=(sh -c 'mount -t tmpfs none "$0" && [ -z "$(ls -A "$0")" ] && exec "$@"' "$build_tree")
fi

shown=$(nm "$work/app/bin/runner" | grep -E ' LLVM|NK?4llvm|Xbyak|8millrace7compile') && fail "the running half has: $shown"
expect 0 "to and fro" "${hidden[@]}" "$work/app/bin/runner"

mkdir "$work/alone"
cp "$work/app/bin/consumer" "$work/alone/consumer"
module=libmillrace_llvm.so
if [[ -e $work/prefix/$LIBDIR/$module ]]; then
  expect 0 "$work/build/$module" "${hidden[@]}" "$work/build/consumer"
  expect 0 "$work/app/bin/$module" "${hidden[@]}" "$work/app/bin/consumer"
  expect 0 "$work/app/plugins/$module" "${hidden[@]}" "$work/app/bin/host" "$work/app/plugins/plugin.so"

  # By a name from PATH, in a directory that has another file of this name, next to another module.
  mkdir "$work/elsewhere"
  touch "$work/elsewhere/consumer" "$work/elsewhere/$module"
  expect 0 "$work/app/bin/$module" \
    "${hidden[@]}" env -C "$work/elsewhere" PATH="$work/app/bin:$PATH" bash -c 'exec -a consumer consumer'

  # Linked, and nothing else said: the package's module.
  of_package=$work/prefix/$LIBDIR/$module
  for program in plain with_library with_objects; do
    expect 0 "$of_package" "${hidden[@]}" "$work/build/linked/$program"
  done
  expect 0 "$of_package" "${hidden[@]}" "$work/alone/consumer"

  why="kernel 'mul_add_max_0' for cpu:* is in no kernel cache, and cannot be generated: llvm:"
  advice="remove their access, or name the module in MILLRACE_LLVM_MODULE; this context has no cache directory"
  chmod o+w "$of_package"
  expect_like 1 "relu: $why $of_package is not opened: $of_package can be written by everybody, so others may have \
changed it; $advice" "${hidden[@]}" "$work/alone/consumer"
  chmod o-w "$of_package"
  mv "$of_package" "$of_package.away"
  expect_like 1 "relu: $why $module not found; looked in $work/alone/$module, $of_package*; put it there \
(millrace_deploy_module of the CMake package does), or name it in MILLRACE_LLVM_MODULE; this context has no cache \
directory" "${hidden[@]}" "$work/alone/consumer"
  expect 0 "$work/app/bin/$module" "${hidden[@]}" env MILLRACE_LLVM_MODULE="$work/app/bin/$module" "$work/alone/consumer"
  expect 0 "$work/app/bin/$module" \
    "${hidden[@]}" env MILLRACE_LLVM_MODULE="$module" LD_LIBRARY_PATH="$work/app/bin" "$work/alone/consumer"

  cp "$work/app/bin/$module" "$work/alone"
  chmod o+w "$work/alone/$module"
  expect_like 1 "relu: $why $work/alone/$module is not opened: $work/alone/$module can be written by everybody, so \
others may have changed it; $advice" "${hidden[@]}" "$work/alone/consumer"
  chmod o-w "$work/alone/$module"
  chmod o+w "$work/alone"
  expect_like 1 "relu: $why $work/alone/$module is not opened: $work/alone can be written by everybody, so others may \
have changed it; $advice" "${hidden[@]}" "$work/alone/consumer"
  chmod o-w "$work/alone"
  mv "$of_package.away" "$of_package"
fi
if [[ -e $work/prefix/bin/millrace ]]; then
  printf 'graph g(%%x: f32[4]) {\n  %%y = neg(%%x)\n  return y = %%y\n}\n' >"$work/g.mr"
  expect 0 $'y: f32[4]\n  [-1, -1, -1, -1]' \
    "${hidden[@]}" env XDG_CACHE_HOME="$work/cache" "$work/prefix/bin/millrace" run "$work/g.mr" --input x=ones
fi
