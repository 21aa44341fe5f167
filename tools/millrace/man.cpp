// SPDX-License-Identifier: Apache-2.0
// `millrace man`: the manual page, made from the help texts of all commands.
#include <CLI/CLI.hpp>

#include "tools/millrace/command.h"
#include "tools/millrace/graph_arguments.h"

namespace millrace::tool {
namespace {

/// Escapes text for roff, so that no line is mistaken for a request and '-' stays a hyphen-minus.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else if ((c == '.' || c == '\'') && (result.empty() || result.back() == '\n')) {
      result += std::string("\\&") + c;
    } else {
      result += c;
    }
  }
  return result;
}

std::string option_text(const CLI::Option& option) {
  std::string names = "\\fB" + escaped(option.get_name(option.get_positional(), true)) + "\\fR";
  for (std::size_t at = names.find(','); at != std::string::npos; at = names.find(',', at + 2))
    names.insert(at + 1, " ");
  const bool takes_value = !option.get_positional() && option.get_items_expected_max() > 0;
  if (takes_value) names += " \\fI" + escaped(option.get_type_name()) + "\\fR";
  return ".TP\n" + names + "\n" + escaped(option.get_description()) + "\n";
}

std::string command_text(const CLI::App& command) {
  std::string text = ".SS " + command.get_name() + "\n" + escaped(command.get_description()) + "\n";
  for (const CLI::Option* option : command.get_options()) text += option_text(*option);
  return text + ".PP\n.nf\n" + escaped(command.get_footer()) + "\n.fi\n";
}

std::string page(const CLI::App& program) {
  std::string text = ".TH MILLRACE 1 \"\" \"millrace " MILLRACE_VERSION "\"\n";
  text += ".SH NAME\nmillrace \\- " + escaped(program.get_description()) + "\n";
  text += ".SH SYNOPSIS\n\\fBmillrace\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]...\n";
  text += ".SH OPTIONS\n";
  for (const CLI::Option* option : program.get_options()) text += option_text(*option);
  text += ".SH COMMANDS\n";
  for (const CLI::App* command :
       program.get_subcommands([](const CLI::App* app) { return !app->get_group().empty(); })) {
    text += command_text(*command);
  }
  text +=
      ".SH EXIT STATUS\n0 for success; 1 for an error, which a message on standard error explains; 2 for "
      "wrong usage.\n";
  text +=
      ".SH FILES\nCompiled kernels are kept in \\fI$XDG_CACHE_HOME/millrace\\fR, or in "
      "\\fI~/.cache/millrace\\fR. The directories in \\fI$MILLRACE_CACHE_LAYERS\\fR, which colons separate, are "
      "searched "
      "too, and only read.\n";
  return text;
}

}  // namespace

Action add_man(CLI::App& app) {
  return [&app] { return write_text("", page(*app.get_parent())); };
}

}  // namespace millrace::tool
