// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "millrace/graph/graph.h"

/// A graph as text, which reads back to the same graph, node by node:
///
///     graph top(%x: f32[rows in 1..64, 32000]) {
///       %values, %indices = topk(%x) {k = 50, axis = 1, largest = true, sorted = true}
///       return values = %values, indices = %indices
///     }
///
/// The grammar; spaces, line ends and comments ("//" up to the end of the line) stand between tokens:
///
///     graph     := "graph" name "(" [input {"," input}] ")" "{" {statement} "return" output {"," output} "}"
///     input     := value ":" type
///     statement := value {"," value} "=" operation [":" type {"," type}]  |  "input" value
///     operation := op operands ["{" [attribute {"," attribute}] "}"]
///                | "kernel" name operands
///                | "constant" "(" elements ")"
///     operands  := "(" [value {"," value}] ")"
///     attribute := name "=" setting
///     setting   := integer | number | "true" | "false" | dtype | size | "[" [setting {"," setting}] "]"
///     elements  := [element {"," element}] | "bytes" string | "file" "(" string ["," string] ")"
///     element   := number | "true" | "false"
///     number    := decimal | ["-"] "inf" | "nan" ["(" the bits, as 0x7fc00001 ")"]
///     output    := name "=" value
///     type      := dtype "[" [size {"," size}] "]"  |  dtype "[" integer {"x" integer} "]"
///     value     := "%" (letters, digits, "_" and "."  |  string)
///     name      := a letter or "_", then letters, digits, "_" and "."  |  string
///     string    := '"' characters and the escapes \" \\ \n \t \x7f '"'
///
/// * `size` and the facts of symbols are those of parse_size_expr (base/size_expr.h): "rows in 1..64 multiple_of 4"
///   where a symbol first appears, in a dim or in an attribute, and "rows" from there on.
/// * Ops and their attributes are those of ops/op_table.inc; an attribute that is left out has its default.
/// * Every result of a node is named, used or not. The graph keeps names, and messages tell values by them; %7 and %7.1
///   are no names but numbers, which to_text gives anew.
/// * The types of results follow from the operands: they may be left out, and are checked when they are there. Only
///   listed elements and bytes need theirs.
/// * `bytes` are those of the row-major, little-endian elements, two hexadecimal digits each. `file` is a NumPy file,
/// or
///   a safetensors file and the name of an entry.
/// * "kernel" names one of ParseOptions::kernels.
/// * Inputs are nodes before all others, but that a line "input %x" stands where %x comes among the nodes.
namespace millrace {

/// What stands for the elements of a constant that has more than 16.
enum class LargeConstants {
  kBytes,      // all of them
  kShortened,  // the first eight, for people: such text is not read back
  kFile,       // an entry of TextOptions::file, named by the node's number
};

struct TextOptions {
  LargeConstants large = LargeConstants::kBytes;
  std::string file = {};  // kFile only: a safetensors file, as the text shall name it
};

std::string to_text(const Graph&, const TextOptions& = {});

/// "%x" for the input or the result of that name, "%7" for node 7, "%7.1" where it has several results. The name in
/// every message.
std::string value_text(const Graph&, Value);

/// "%y = exp", "%values, %indices = topk", "%7 = topk": the node in every message.
std::string node_text(const Graph&, NodeId);

struct ParseOptions {
  std::string name = "graph";              // stands for the text in errors
  std::string directory = {};              // where the files of constants are; without it there are none
  std::vector<CustomKernel> kernels = {};  // what "kernel <name>" may name
};

/// The graph, verified, or the first mistake with its line and column, what was found and expected, and what to do:
///
///     g.mr:2:8: found 'topq', expected an op; did you mean 'topk'?
///       %y = topq(%x)
///            ^
Result<Graph> parse_graph(std::string_view text, const ParseOptions& = {});

/// Reads a file of text. Errors name the path, and constants' files are looked for beside it: the options say neither.
Result<Graph> read_graph(const std::string& path, ParseOptions = {});
/// Writes the text, and the constants that are large, if any, to one file beside it: "g.mr" and "g.mr.safetensors". A
/// pipe or device has nothing beside it: constants stand in the text.
Status write_graph(const Graph&, const std::string& path);

}  // namespace millrace
