#include "tests/determinism/process_changes.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <filesystem>

#include "core/formats/json.h"
#include "tests/determinism/child_process.h"
#include "tests/tools/rehearse/run_in_process.h"

namespace rehearse::testing_determinism {
namespace {

using testing_command::shipped_scenario;
using testing_command::TemporaryDirectory;

struct Digests {
  std::string events;
  std::string weights;
  bool operator==(const Digests&) const = default;
};

Digests digests_of_json(const std::string& text) {
  const auto summary = parse_json(text);
  return {summary.at("event_digest"), summary.at("weights_sha256")};
}

// What stands behind the name in its line.
std::string field_of(const std::string& text, const std::string& name) {
  const std::size_t line = text.find("\n  " + name + " ");
  if (line == std::string::npos) return "no " + name;
  const std::size_t begin = text.find_first_not_of(' ', line + 3 + name.size());
  return text.substr(begin, text.find('\n', begin) - begin);
}

struct Change {
  std::string name;
  ChildSettings settings;
  bool text = false;            // reads the report instead of summary.json
  bool may_be_refused = false;  // by a sandbox
};

class Changes {
 public:
  Changes(std::vector<std::string> words, const TemporaryDirectory& folder)
      : words_(std::move(words)), folder_(folder) {
    heap();
    environment();
    addresses();
    machine();
    files();
  }
  const std::deque<Change>& all() const { return changes_; }

 private:
  Change& add(const std::string& name) {
    Change& change = changes_.emplace_back();
    change.name = name;
    change.settings.words = words_;
    return change;
  }
  void variable(const std::string& assignment) { add(assignment).settings.more_environment = {assignment}; }
  void before(const std::string& name, std::function<bool()> work) { add(name).settings.before = std::move(work); }

  void heap() {
    for (const int fill : {1, 85, 127, 170, 255}) variable("MALLOC_PERTURB_=" + std::to_string(fill));
    for (const char* tunables :
         {"glibc.malloc.hugetlb=1", "glibc.malloc.tcache_count=0", "glibc.malloc.mmap_threshold=4096",
          "glibc.malloc.arena_max=1:glibc.malloc.top_pad=1", "glibc.malloc.trim_threshold=1",
          // Variants of memcpy and libm that another processor would get.
          "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F,-ERMS", "glibc.cpu.x86_data_cache_size=16384"}) {
      variable(std::string("GLIBC_TUNABLES=") + tunables);
    }
  }

  void environment() {
    // Whether or not they are installed; the second and third separate decimals by a comma and know two letters i.
    for (const char* locale : {"C", "C.UTF-8", "de_DE.UTF-8", "tr_TR.UTF-8", "ar_EG"}) {
      variable(std::string("LC_ALL=") + locale);
    }
    for (const char* zone : {"UTC", "Asia/Kathmandu", "America/St_Johns", ":no such zone"}) {
      variable(std::string("TZ=") + zone);
    }
    variable("TMPDIR=/nonexistent");
    add("no environment").settings.environment.emplace();
    Change& large = add("100 KiB of environment");
    for (int i = 0; i < 100; ++i) {
      large.settings.more_environment.push_back("FILL_" + std::to_string(i) + "=" + std::string(1016, 'x'));
    }
    for (const int bytes : {1, 16, 33}) {
      Change& odd = add(std::to_string(bytes) + " bytes more of environment");
      odd.settings.more_environment = {"F=" + std::string(static_cast<std::size_t>(bytes), 'x')};
    }
    add("another program name").settings.program_name = std::string(3001, 'r');
  }

  void addresses() {
    Change& fixed = add("no address randomisation");
    fixed.settings.before = [] { return personality(ADDR_NO_RANDOMIZE) >= 0; };
    fixed.may_be_refused = true;
    Change& fixed_and_filled = add("no address randomisation, filled heap");
    fixed_and_filled.settings.before = fixed.settings.before;
    fixed_and_filled.settings.more_environment = {"MALLOC_PERTURB_=90"};
    fixed_and_filled.may_be_refused = true;
    for (int i = 0; i < 5; ++i) add("address randomisation, once more");
    for (const rlim_t kilobytes : {rlim_t{512}, rlim_t{3000}, rlim_t{65536}}) {
      before("stack of " + std::to_string(kilobytes) + " KiB", [kilobytes] {
        rlimit limit = {};
        getrlimit(RLIMIT_STACK, &limit);
        limit.rlim_cur = std::min<rlim_t>(kilobytes * 1024, limit.rlim_max);
        return setrlimit(RLIMIT_STACK, &limit) == 0;
      });
    }
    // Where that is without limit, mappings grow the other way.
    before("stack as large as allowed", [] {
      rlimit limit = {};
      getrlimit(RLIMIT_STACK, &limit);
      limit.rlim_cur = limit.rlim_max;
      return setrlimit(RLIMIT_STACK, &limit) == 0;
    });
  }

  void machine() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
    int cores = 0;
    for (int core = 0; core < CPU_SETSIZE && cores < 8; ++core) {
      if (!CPU_ISSET(core, &allowed)) continue;
      ++cores;
      before("core " + std::to_string(core) + " alone", [core] {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        return sched_setaffinity(0, sizeof(one), &one) == 0;
      });
    }
    before("nice", [] { return setpriority(PRIO_PROCESS, 0, 10) == 0; });
    before("few files", [] {
      const rlimit limit = {32, 32};
      return setrlimit(RLIMIT_NOFILE, &limit) == 0;
    });
    before("another umask", [] {
      umask(0077);
      return true;
    });
    before("signals ignored", [] { return signal(SIGINT, SIG_IGN) != SIG_ERR && signal(SIGHUP, SIG_IGN) != SIG_ERR; });
  }

  void files() {
    add("another working directory").settings.directory = "/";
    add("a deep working directory").settings.directory = deep_directory();
    before("closed stdin", [] { return close(STDIN_FILENO) == 0; });
    before("closed stderr", [] { return close(STDERR_FILENO) == 0; });
    add("stdout to a file").settings.stdout_to_file = true;
    add_words("--out", {"--out", folder_ / "out"});
    add_words("--out of a long name", {"--out", folder_ / (std::string(200, 'o') + "/a b/out")});
    add_words("--out that is relative", {"--out", "relative"}).settings.directory = deep_directory();
    Change& closed = add_words("--out and closed stdin", {"--out", folder_ / "closed"});
    closed.settings.before = [] { return close(STDIN_FILENO) == 0; };
    Change& report = add("--format text");
    report.text = true;
    Change& to_file = add("--format text to a file");
    to_file.text = true;
    to_file.settings.stdout_to_file = true;
    Change& with_out = add_words("--format text and --out", {"--out", folder_ / "text"});
    with_out.text = true;
  }
  Change& add_words(const std::string& name, const std::vector<std::string>& words) {
    Change& change = add(name);
    change.settings.words.insert(change.settings.words.end(), words.begin(), words.end());
    return change;
  }
  std::string deep_directory() const {
    const std::string path = folder_ / "a/deep/directory with blanks";
    std::filesystem::create_directories(path);
    return path;
  }

  std::vector<std::string> words_;
  const TemporaryDirectory& folder_;
  std::deque<Change> changes_;  // references to them stay good
};

void compare_processes(const std::string& what, const std::vector<std::string>& words) {
  ChildSettings plain;
  plain.words = words;
  plain.words.insert(plain.words.end(), {"--format", "json"});
  const ChildResult first = run_child(plain);
  ASSERT_EQ(first.code, 0) << what;
  const Digests expected = digests_of_json(first.out);
  ASSERT_EQ(expected.events.size(), 64u);
  ASSERT_EQ(expected.weights.size(), 64u);

  const TemporaryDirectory folder;
  const Changes changes(words, folder);
  int compared = 0;
  int refused = 0;
  for (const Change& change : changes.all()) {
    SCOPED_TRACE(what + ", " + change.name);
    ChildSettings settings = change.settings;
    settings.words.insert(settings.words.end(), {"--format", change.text ? "text" : "json"});
    const ChildResult result = run_child(settings);
    if (change.may_be_refused && result.not_allowed) {
      ++refused;
      continue;
    }
    ASSERT_EQ(result.code, 0) << result.out;
    const Digests found = change.text
                              ? Digests{field_of(result.out, "event_digest"), field_of(result.out, "weights_sha256")}
                              : digests_of_json(result.out);
    EXPECT_EQ(found.events, expected.events);
    EXPECT_EQ(found.weights, expected.weights);
    ++compared;
  }
  std::printf("%s: %d processes gave the digests of a plain one", what.c_str(), compared);
  std::printf(refused > 0 ? ", %d ways were refused by this machine\n" : "\n", refused);
  EXPECT_GT(compared, 50);
}

}  // namespace

void expect_processes_agree(const std::string& name) { compare_processes(name, {"run", shipped_scenario(name)}); }

void expect_resumed_processes_agree(const std::string& name) {
  const TemporaryDirectory folder;
  ChildSettings recorded;
  recorded.words = {"run", shipped_scenario(name), "--out", folder / "run"};
  ASSERT_EQ(run_child(recorded).code, 0);
  std::vector<std::string> checkpoints;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "run/checkpoints")) {
    checkpoints.push_back(entry.path().string());
  }
  ASSERT_FALSE(checkpoints.empty());
  compare_processes("resume of " + name, {"resume", *std::min_element(checkpoints.begin(), checkpoints.end())});
}

}  // namespace rehearse::testing_determinism
