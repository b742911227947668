// simdjson's on-demand walk over the values that an index row needs, as a contender of bench/index-figures.mjs: no row
// text is made, and what is not wanted is passed over by the library. One line is one document; UTF-8 is checked by the
// library's first stage, which is not optional.
//
//   g++ -O3 -march=native -std=c++17 walk.cpp -lsimdjson -o walk
//   walk FILE PASSES
//
// Prints one JSON object: the time of each pass over the file in memory, that of each pass with reading included (into
// the same memory), and sums over all records by which its answers can be compared with rows.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <simdjson.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace simdjson;

struct Sums {
  uint64_t records = 0, traces = 0, nodes = 0, turns = 0, parents = 0, calls = 0, input = 0, output = 0, errors = 0,
           prompt = 0, bytes_of_text = 0;
  double cost = 0, rewards = 0, times = 0;
};

static double number(ondemand::value value) { return value.get_double().value(); }

// Length of a string or 0 of a null: the text has to be found, unescaped and looked at, not kept.
static uint64_t text(ondemand::value value) {
  std::string_view view;
  return value.get_string().get(view) == SUCCESS ? view.size() : 0;
}

static void walk_node(ondemand::object node, Sums &sums) {
  sums.nodes++;
  for (auto field : node) {
    auto key = field.key().value();
    if (key == "parent") {
      sums.parents += field.value().get_uint64().value() + 1;
    } else if (key == "message") {
      for (auto member : field.value().get_object()) {
        if (member.key().value() == "role" && member.value().get_string().value() == "assistant") sums.turns++;
      }
    }
  }
}

static void walk_call(ondemand::object call, Sums &sums) {
  sums.calls++;
  for (auto field : call) {
    auto key = field.key().value();
    if (key == "node") {
      sums.bytes_of_text += field.value().get_uint64().value() & 1;
    } else if (key == "finish_reason") {
      sums.bytes_of_text += text(field.value());
    } else if (key == "error") {
      sums.errors++;
    } else if (key == "usage") {
      for (auto member : field.value().get_object()) {
        auto name = member.key().value();
        if (name == "prompt_tokens" || name == "completion_tokens" || name == "cached_input_tokens") {
          sums.prompt += member.value().get_uint64().value();
        } else if (name == "cost") {
          sums.cost += number(member.value());
        }
      }
    }
  }
}

static void walk_info(ondemand::object info, Sums &sums) {
  for (auto field : info) {
    auto key = field.key().value();
    if (key == "kind") {
      sums.bytes_of_text += text(field.value());
    } else if (key == "dispatch" || key == "arrival") {
      for (auto member : field.value().get_object()) {
        if (member.key().value() == "time") sums.times += number(member.value());
      }
    } else if (key == "advantage") {
      sums.times += number(field.value());
    }
  }
}

static void walk_spans(ondemand::object timing, Sums &sums) {
  for (auto field : timing) {
    ondemand::value value = field.value();
    if (value.type().value() == ondemand::json_type::object) {
      walk_spans(value.get_object().value(), sums);
    } else {
      sums.times += number(value);
    }
  }
}

static void walk_trace(ondemand::object trace, Sums &sums) {
  sums.traces++;
  for (auto field : trace) {
    auto key = field.key().value();
    if (key == "nodes") {
      for (auto node : field.value().get_array()) walk_node(node.get_object().value(), sums);
    } else if (key == "calls") {
      for (auto call : field.value().get_array()) walk_call(call.get_object().value(), sums);
    } else if (key == "id" || key == "stop_condition") {
      sums.bytes_of_text += text(field.value());
    } else if (key == "rewards") {
      for (auto reward : field.value().get_object()) {
        double score = 0, weight = 1;
        for (auto member : reward.value().get_object()) {
          auto name = member.key().value();
          if (name == "score") score = number(member.value());
          else if (name == "weight") weight = number(member.value());
        }
        sums.rewards += score * weight;
      }
    } else if (key == "info") {
      walk_info(field.value().get_object().value(), sums);
    } else if (key == "timing") {
      walk_spans(field.value().get_object().value(), sums);
    }
  }
}

static void walk_record(ondemand::object record, Sums &sums) {
  sums.records++;
  for (auto field : record) {
    auto key = field.key().value();
    if (key == "traces") {
      for (auto trace : field.value().get_array()) walk_trace(trace.get_object().value(), sums);
    } else if (key == "id") {
      sums.bytes_of_text += text(field.value());
    } else if (key == "env" || key == "group" || key == "run") {
      for (auto member : field.value().get_object()) {
        auto name = member.key().value();
        if (name == "id" || name == "name" || name == "type") sums.bytes_of_text += text(member.value());
      }
    } else if (key == "ok") {
      sums.bytes_of_text += field.value().get_bool().value();
    } else if (key == "errors") {
      ondemand::array list = field.value().get_array();
      sums.errors += list.count_elements().value();
    } else if (key == "num_input_tokens") {
      sums.input += field.value().get_uint64().value();
    } else if (key == "num_output_tokens") {
      sums.output += field.value().get_uint64().value();
    }
  }
}

static Sums walk_lines(ondemand::parser &parser, const char *bytes, size_t length, size_t capacity) {
  Sums sums;
  for (size_t at = 0; at < length;) {
    const char *end = static_cast<const char *>(memchr(bytes + at, '\n', length - at));
    size_t line = (end == nullptr ? length : static_cast<size_t>(end - bytes)) - at;
    auto document = parser.iterate(padded_string_view(bytes + at, line, capacity - at));
    walk_record(document.get_object().value(), sums);
    at += line + 1;
  }
  return sums;
}

static void read_whole(int file, char *bytes, size_t length) {
  for (size_t at = 0; at < length;) {
    ssize_t count = pread(file, bytes + at, length - at < (1 << 20) ? length - at : (1 << 20), at);
    if (count <= 0) exit(1);
    at += count;
  }
}

// Wall time and processor time of this process: on a shared machine the second is the steadier one.
struct Moment {
  std::chrono::steady_clock::time_point wall = std::chrono::steady_clock::now();
  clock_t cpu = clock();
  double wall_seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - wall).count(); }
  double cpu_seconds() const { return static_cast<double>(clock() - cpu) / CLOCKS_PER_SEC; }
};

struct Pass {
  double wall, cpu;
};

static void print_passes(const char *name, const std::vector<Pass> &passes) {
  printf("\"%s\":[", name);
  for (size_t at = 0; at < passes.size(); at++) {
    printf("%s{\"seconds\":%.6f,\"cpuSeconds\":%.6f}", at == 0 ? "" : ",", passes[at].wall, passes[at].cpu);
  }
  printf("],");
}

int main(int, char **arguments) {
  int file = open(arguments[1], O_RDONLY);
  struct stat status;
  fstat(file, &status);
  size_t length = status.st_size, capacity = length + SIMDJSON_PADDING;
  char *bytes = static_cast<char *>(malloc(capacity));
  memset(bytes, 0, capacity);
  ondemand::parser parser;
  std::vector<Pass> in_memory, with_reading;
  Sums sums;
  read_whole(file, bytes, length);
  walk_lines(parser, bytes, length, capacity);
  for (int pass = atoi(arguments[2]); pass > 0; pass--) {
    Moment walked;
    sums = walk_lines(parser, bytes, length, capacity);
    in_memory.push_back({walked.wall_seconds(), walked.cpu_seconds()});
    Moment read;
    read_whole(file, bytes, length);
    walk_lines(parser, bytes, length, capacity);
    with_reading.push_back({read.wall_seconds(), read.cpu_seconds()});
  }
  printf("{\"kernel\":\"%s\",\"version\":\"%d.%d.%d\",", get_active_implementation()->name().c_str(),
         SIMDJSON_VERSION_MAJOR, SIMDJSON_VERSION_MINOR, SIMDJSON_VERSION_REVISION);
  print_passes("in_memory", in_memory);
  print_passes("with_reading", with_reading);
  printf("\"records\":%lu,\"traces\":%lu,\"turns\":%lu,\"input_tokens\":%lu,\"output_tokens\":%lu,", sums.records,
         sums.traces, sums.turns, sums.input, sums.output);
  printf("\"cost\":%.9g,\"rewards\":%.9g,\"other\":%.9g}\n", sums.cost, sums.rewards,
         sums.times + sums.nodes + sums.parents + sums.calls + sums.errors + sums.prompt + sums.bytes_of_text);
}
