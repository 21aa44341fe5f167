// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "millrace/base/status.h"

namespace faces {

/// Rows of red, green and blue bytes.
struct Picture {
  std::int64_t width = 0, height = 0;
  std::vector<std::uint8_t> bytes;
};

/// Reads a JPEG, PNG or PPM (P6) file.
millrace::Result<Picture> read_picture(const std::string& path);
/// Writes a PNG file.
millrace::Status write_picture(const std::string& path, const Picture&);

/// Corners in pixels; the box may reach beyond the picture.
struct Box {
  std::int64_t left = 0, top = 0, right = 0, bottom = 0;
};
/// Draws the outline in green, two pixels wide, inside the box.
void draw_box(Picture&, const Box&);

}  // namespace faces
