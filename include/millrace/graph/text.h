// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/base/mapped_file.h"
#include "millrace/graph/graph.h"

/// A graph as text that reads back to the same graph, node for node:
///
///     graph top(%x: f32[rows in 1..64, 32000]) {
///       %values, %indices = topk(%x) {k = 50, axis = 1, largest = true, sorted = true}
///       return values = %values, indices = %indices
///     }
///
/// The grammar. Spaces, line ends and comments ("//" to the end of the line) may separate tokens:
///
///     graph     := "graph" name "(" [input {"," input}] ")" "{" {statement} "return" [output {"," output}] "}"
///     input     := value ":" type
///     statement := value {"," value} "=" operation [":" type {"," type}]
///                | "input" value  |  "update" value "=" value
///     operation := (op | composite) (operands | numbered) ["{" [attribute {"," attribute}] "}"]
///                | "kernel" name operands  |  "kernel" operands "{" loop kernel "}"
///                | ("constant" | "variable") "(" elements ")"
///                | "while" operands "{" graph "}"  |  "if" operands "{" graph graph "}"
///     operands  := "(" [value {"," value}] ")"
///     numbered  := "(" value "," element ")"  |  "(" element "," value ")"
///     attribute := name "=" setting
///     setting   := integer | number | "true" | "false" | dtype | size | string | word
///                | "[" [setting {"," setting}] "]"
///     elements  := [element {"," element}] | "bytes" string | "file" "(" string ["," (string | integer)] ")"
///     element   := number | "true" | "false"
///     number    := decimal | ["-"] "inf" | "nan" ["(" the bits, as 0x7fc00001 ")"]
///     output    := name "=" value
///     type      := dtype "[" [size {"," size}] "]"  |  dtype "[" integer {"x" integer} "]"
///     value     := "%" {part "/"} part
///     part      := letters, digits, "_" and "."  |  string
///     name      := a letter or "_", then letters, digits, "_" and "."  |  string
///     string    := '"' characters and the escapes \" \\ \n \t \x7f '"'
///
/// * `size` and the facts of symbols follow parse_size_expr (base/size_expr.h): "rows in 1..64 multiple_of 4" where a
///   symbol first appears, in a dim or an attribute, and "rows" from there on.
/// * Ops and attributes are those of ops/op_table.inc. An attribute that is left out has its default value.
/// * An elementwise op of two operands broadcasts them, like its C++ function: "mul(%x, %scale)". An operand may be a
///   number where the C++ function takes one: "add(%x, 1)", "select(%condition, %x, 0)". The nodes that a
///   broadcast or a number adds are printed too.
/// * A composite stands for the nodes that it expands to, and is printed expanded. Its attributes are the parameters of
///   its C++ function. operation_forms() lists ops and composites.
/// * Every result of a node is named, used or not. The graph keeps the names for messages. %7 and %7.1 are numbers, not
/// names; to_text assigns them anew.
/// * "/" ends the name of a scope: %decoder/layer3/q is named q in the scope layer3, which is in the scope decoder, and
/// %layer3/7 is in layer3 without a name. All results of a node are in one scope, and so are the nodes of a composite.
/// Inputs and variables are in no scope.
/// * Result types follow from the operands. They may be left out, and are checked if present. A constant or a variable
///   needs a type if it lists elements or bytes. One element stands for all: constant(7) : f32[rows, 3].
/// * A variable keeps its value from run to run, under the name of its result. The elements are its value before the
/// first run. `update` gives the variable its value for the next run. Only a graph with updates may have no output.
/// * `while` holds the graph of its body, `if` those of both branches; LoopNode and CondNode (graph.h) define their
/// operands, inputs and outputs. These graphs see nothing except their inputs. The variables of a loop's body are the
/// loop's state and have no elements:
///
///       %zero = constant(0) : i64[]
///       %last, %sum = while(%more, %zero, %x, %n) {
///         graph round(%n: i64[]) {
///           %i = variable() : i64[]
///           %s = variable() : f32[4]
///           %one = constant(1) : i64[]
///           %next = add(%i, %one)
///           %twice = add(%s, %s)
///           %more = less(%next, %n)
///           update %i = %next
///           update %s = %twice
///           return more = %more
///         }
///       }
/// * `bytes` are the row-major, little-endian elements, with two hexadecimal digits per byte. `file` names a NumPy
///   file, a safetensors file and one of its entries, or any file and the byte offset of elements that are stored as in
///   `bytes`. Only the last form of `file` needs a type.
/// * "kernel" with a name calls one of ParseOptions::kernels. Without a name it holds the application's loop nest, in
/// the form of parse_loop_kernel (loop_kernel.h), which verify_safe() must accept.
/// * Inputs come before all other nodes, except that a line "input %x" places %x among the nodes.
namespace millrace {

/// The syntax of an attribute.
struct AttributeForm {
  std::string name;
  std::string default_text = {};  // empty: the attribute is required
  bool is_in_words = false;       // default_text describes the default, such as "the number of elements"
};

/// The syntax of a call of an op or a composite.
struct OperationForm {
  std::string name;
  bool is_composite = false;
  std::vector<AttributeForm> attributes = {};
  std::string call;     // "%values, %indices = topk(%x) {k = 1, axis = -1, largest = true, sorted = true}"
  std::string meaning;  // "values, i64 indices of the k largest (smallest)"
  std::string example;  // a whole graph
};
/// All ops in the table's order, each followed by the composite that shares its name, and then the other composites.
std::vector<OperationForm> operation_forms();
/// The forms with this name. Fails with kNotFound, and suggests the nearest name.
Result<std::vector<OperationForm>> operation_forms(std::string_view name);

/// How to write the elements of a constant with more than 16 of them.
enum class LargeConstants {
  kBytes,      // all of them, in hexadecimal
  kShortened,  // the first eight, for people; cannot be read back
  kFile,       // an entry of TextOptions::file, named after the node's number
};

struct TextOptions {
  LargeConstants large = LargeConstants::kBytes;
  std::string file = {};  // kFile only: the safetensors file's name in the text
  /// Files of constants, by their names in the text. A large constant that lies in one of them is written as its
  /// offset.
  std::vector<MappedFile> mapped = {};
};

std::string to_text(const Graph&, const TextOptions& = {});

/// The value's name in every message: "%x" for a named input or result, "%7" for node 7, "%7.1" if it has several
/// results. Scopes precede it, as in "%layer3/q".
std::string value_text(const Graph&, Value);

/// The node's name in every message: "%y = exp", "%values, %indices = topk", "%7 = topk".
std::string node_text(const Graph&, NodeId);

/// The node's name in messages of a run. If a function built the node for the caller, the function's name is used, as
/// in "%y = softmax" or "layer3/softmax"; otherwise, this is node_text.
std::string caller_text(const Graph&, NodeId);

struct ParseOptions {
  std::string name = "graph";              // stands for the text in errors
  std::string directory = {};              // where constant files are; empty: files are rejected
  std::vector<CustomKernel> kernels = {};  // the kernels that "kernel <name>" can refer to
};

/// Returns the verified graph, or the first mistake with its line and column, what was found and expected, and a
/// remedy:
///
///     g.mr:2:8: found 'topq', expected an op; did you mean 'topk'?
///       %y = topq(%x)
///            ^
Result<Graph> parse_graph(std::string_view text, const ParseOptions& = {});

/// Reads a text file. Errors name its path, and constant files are relative to its directory; both override the
/// options.
Result<Graph> read_graph(const std::string& path, ParseOptions = {});
/// Writes the text, and any large constants to one file next to it: "g.mr" and "g.mr.safetensors". For a pipe or
/// device, the constants go into the text. Large constants that lie in one of the mapped files stay there: the text
/// names the file, relative to its own folder, and the offset.
Status write_graph(const Graph&, const std::string& path, std::span<const MappedFile> mapped = {});

}  // namespace millrace
