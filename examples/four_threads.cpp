// SPDX-License-Identifier: Apache-2.0
// Four threads that run one program. A Program never changes and is shared; a Session holds one run's memory, so each
// thread has its own.
#include <array>
#include <cstdio>
#include <thread>
#include <vector>

#include "millrace/millrace.h"

using namespace millrace;

int main() try {
  GraphBuilder graph("rows");
  const Tensor x = graph.input("x", DType::kF32, {64, 256});
  graph.output("sorted", sort(x, 1).values);
  const Program program = compile(graph.finish().value()).value();

  std::array<Status, 4> statuses;
  std::vector<std::thread> threads;
  for (std::size_t number = 0; number < statuses.size(); ++number) {
    threads.emplace_back([&program, number, &status = statuses[number]] {
      status = [&]() -> Status {
        MILLRACE_TRY_ASSIGN(Session session, Session::create(program));
        std::vector<float> in(64 * 256), out(in.size());
        for (std::size_t run = 0; run < 100; ++run) {
          for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>((i * 167 + run + number) % 256);
          MILLRACE_TRY(session.run({bind("x", in)}, {bind("sorted", out)}));
          for (std::size_t i = 0; i < out.size(); ++i) {  // each row holds 0 to 255
            if (out[i] != static_cast<float>(i % 256)) return internal_error("four_threads: a row is not in order");
          }
        }
        return {};
      }();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Status& status : statuses) status.throw_if_error();
  std::puts("4 threads ran 100 sorts of 64 x 256 each");
} catch (const StatusError& error) {
  std::puts(error.what());
  return 1;
}
