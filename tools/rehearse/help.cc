#include "tools/rehearse/help.h"

#include "core/base/check.h"
#include "tools/rehearse/version.h"

namespace rehearse {
namespace {

constexpr const char* kGeneral = R"(: a deterministic discrete-event cluster simulator for distributed training

usage: rehearse COMMAND ...

  run SCENARIO            run a scenario and say what came of it
  resume CHECKPOINT_DIR   continue a run from a checkpoint on disk, to the same bytes
  check SCENARIO          is it valid, what would it send and hold, how long would it take; nothing is run
  cost SCENARIO           what its steps cost: communication, beside formulas; busy links, critical path, price
  fuzz --seeds A..B       random jobs with random faults, judged; what fails is made small
  replay DIR              run again what a run recorded in DIR, and stop at the first event that differs
  diff A B                the first event and the first number in which two runs, checkpoints or tensor files differ
  report DIR              one HTML page of a run, or of two beside each other
  inspect PATH            look into a checkpoint (every hash verified), a tensor file or a scenario
  import nccl-tests FILE  latency and bandwidth of a network, fitted to what nccl-tests measured
  fields [PATH]           what a scenario file may say: every field with its meaning, unit, default and limits
  completion bash|zsh     a script that completes these words in a shell
  man                     the manual page, in roff

  rehearse COMMAND --help explains a command, rehearse --version prints the version.

examples:
  rehearse run scenarios/capstone.textproto
  rehearse run scenarios/capstone.textproto --seed 7 --set train.steps=40 --out out/seed7
  rehearse resume out/seed7/checkpoints/step_000010
  rehearse inspect out/seed7/checkpoints/step_000010
  rehearse replay out/seed7

exit codes: 0 done, and everything expected held; 1 ran, but an expectation or an invariant failed; 2 bad command line,
  scenario or input file; 3 deadlock; 4 reading or writing real files failed; 130 interrupted, with readable files left
)";

constexpr const char* kRun =
    R"(usage: rehearse run SCENARIO [--seed N] [--set PATH=VALUE]... [--out DIR] [--force]
                    [--check-determinism] [--trace FILE [--trace-steps A..B]] [--tensorboard DIR]
                    [--goal FILE] [--chakra PREFIX] [--format text|json]
       rehearse run SCENARIO --sweep PATH=A,B,C [--seeds A..B] [--set PATH=VALUE]... [--format text|json]

Runs a scenario, prints what it ran and what came of it, and ends with 0 where everything the scenario expects held.
The same scenario and seed give the same bits, on every machine.

  --seed N           another seed than the file's: 0 to 18446744073709551615
  --set PATH=VALUE   another value for a field, named as in the file: --set train.steps=40; may be given again
  --out DIR          also write DIR: summary.json, metrics.jsonl (a line as each step ends), events.bin (every event,
                     for replay and diff), scenario.textproto with its input files (up to 64 MiB each) in inputs/, and
                     each checkpoint in checkpoints/step_NNNNNN. DIR must be missing or empty.
  --force            take a DIR that holds an earlier run, whose files are deleted first. A DIR with anything in it
                     that rehearse does not write itself is refused all the same.
  --check-determinism
                     run it twice at the same time, from different heap states, and compare event by event
  --format json      print summary.json on standard output, and nothing else there
  --sweep PATH=A,B,C run a scenario with a job { } for each of these values of a field, and show the goodput of each
                     beside what Young's and Daly's formulas say; the best is marked, expectations are not judged;
                     1 is the exit code where a job was given up
  --seeds A..B       average the sweep over these seeds
  --trace FILE       also write a timeline for the Perfetto UI or chrome://tracing: a process for each rank with its
                     phases, collectives, waits, messages and storage; recoveries, faults, loss, goodput, memory and
                     the links' utilisation. Where a run is too large for that, every second, fourth, ... step.
  --trace-steps A..B these steps alone
  --tensorboard DIR  also write a TensorBoard event file in DIR, as the run goes: losses, norms, rates, times, memory
  --goal FILE        also write what the ranks did as a GOAL schedule in text, for LogGOPSim; not after a recovery
  --chakra PREFIX    the same as Chakra execution traces PREFIX.RANK.et, with collectives as single nodes, for ASTRA-sim

A digest that the scenario expects is of the scenario as its file has it: where --seed or --set change what decides it,
it is not expected, and the header says so.

Ctrl-C ends the run in order: files are complete and readable, the exit code is 130. A second one ends it at once.

examples:
  rehearse run scenarios/capstone.textproto
  rehearse run scenarios/capstone.textproto --seed 7 --out out/seed7
  rehearse run scenarios/ddp.textproto --set cluster.network.latency=50us
  rehearse run scenarios/text.textproto --format json
  rehearse run scenarios/ddp.textproto --check-determinism
  rehearse run scenarios/llama3_54_days.textproto --sweep job.checkpoint.every=5min,10min,20min,40min --seeds 1..8
)";

constexpr const char* kResume = R"(usage: rehearse resume CHECKPOINT_DIR [--reshard --set cluster.ranks=M]
                       [--out DIR] [--force] [--format text|json]

Continues the run that a checkpoint directory was taken from to its last step. Every file of the checkpoint is verified
first. The weights at the end are those of the run that was never interrupted, bit for bit. The scenario and its inputs
come from the checkpoint; an input over 64 MiB comes from where it was, if its SHA-256 is still the same.

  --reshard       continue on another number of ranks, which --set cluster.ranks=M says; --set train.zero_stage,
                  bucket, overlap, recompute_blocks and guards.recompute_every (all of train) are taken too.
                  Parameters, master weights and moments are re-cut, equal by name, element for element; batches,
                  their order and the learning rates stay those of the job. What comes after is not the run that was
                  never interrupted, bit for bit: other ranks add in another order. M divides the sequences of a batch.
  --out DIR       as in rehearse run; metrics and checkpoints are those after the checkpoint's step
  --force         as in rehearse run
  --format json   print summary.json on standard output, and nothing else there

Nothing else can be set: a checkpoint continues its own run and no other.

examples:
  rehearse run scenarios/capstone.textproto --out out/capstone
  rehearse resume out/capstone/checkpoints/step_000010
  rehearse resume out/capstone/checkpoints/step_000010 --out out/continued
  rehearse resume out/capstone/checkpoints/step_000010 --reshard --set cluster.ranks=2
)";

constexpr const char* kCheck = R"(usage: rehearse check SCENARIO [--seed N] [--set PATH=VALUE]... [--format text|json]

Says whether a scenario is valid, and what it would do: its layout and parameters, messages and bytes of a step, memory
of a rank, and how long it would take on one core here, at an assumed 20 GFLOP/s. All of it by formula: nothing is run.

examples:
  rehearse check scenarios/capstone.textproto
  rehearse check scenarios/capstone.textproto --set cluster.ranks=64
)";

constexpr const char* kCost =
    R"(usage: rehearse cost SCENARIO [--seed N] [--set PATH=VALUE]... [--format text|json|csv]
       rehearse cost SCENARIO --sweep PATH=A,B,C [--sweep PATH=D,E]... [--jobs N] [...]
       rehearse cost --collectives SCENARIO [--operation NAME] [--algorithm NAME] [--sizes A..B] [--factor N] [...]

Runs the scenario without its numbers (mode COST: the same messages and times) and says what its steps cost: what of a
step is computing, hidden and exposed communication and waiting; every collective's messages, bytes and time beside the
closed form of its algorithm, computed from the scenario's numbers alone, and why they differ; algbw and busbw as
nccl-tests define them; the busiest links; the critical path; rank-hours, and with cluster.price_per_rank_hour their
price. Expectations are not judged.

  --sweep PATH=A,B,C  a row for each of these values of a field; of several sweeps for every combination of values
  --jobs N            runs them in N processes; the output is the same
  --format csv        a line for each collective, for each combination of a sweep, or for each size

With --collectives it times collectives on the scenario's cluster and network, one at a time, all ranks starting at
once, without its faults and without payload: a table over sizes for each algorithm. Sizes, algbw and busbw are those of
nccl-tests: a rank's whole buffer; size over time; and what a link would have to carry if the collective were optimal.
Beside the simulated time stand the literature's closed form, where the network is one that it holds for, and the link
that is busiest.

  --operation NAME   all_reduce (default), reduce_scatter, all_gather, broadcast, reduce, all_to_all, gather, scatter
                     or barrier; "all" for all of them
  --algorithm NAME   one of the operation's algorithms, e.g. ring; default: all that can do so many ranks
  --sizes A..B       from A on, as long as they are at most B; default 1KiB..1GiB. One size is a table of one line
  --factor N         each size is N times the one before; default 2

examples:
  rehearse cost scenarios/capstone.textproto
  rehearse cost scenarios/oversubscribed_tree.textproto --format json
  rehearse cost scenarios/ddp.textproto --sweep cluster.network.bandwidth=25Gbps,100Gbps,400Gbps
  rehearse cost scenarios/ddp.textproto --sweep cluster.ranks=2,4,8 --sweep cluster.network.latency=1us,50us --jobs 2
  rehearse cost --collectives scenarios/oversubscribed_tree.textproto
  rehearse cost --collectives scenarios/ddp.textproto --algorithm ring --sizes 1MiB..1GiB --factor 4 --format csv
  rehearse cost --collectives scenarios/ddp.textproto --operation all_to_all --set cluster.network.preset=nvlink4
)";

constexpr const char* kFuzz =
    R"(usage: rehearse fuzz --seeds A..B [--jobs N] [--minutes M] [--out FILE.jsonl] [--format text|json]
       rehearse fuzz --replay SEED|SCENARIO [--out FILE.textproto] [--format text|json]

Draws a job and what goes wrong in it from each seed, runs it twice and its reference without faults once, and looks
whether what must hold of every run does: it comes to its last step, or ends as its policies say; its weights are, step
by step, those of the reference; replicas agree; checkpoints verify; both runs have the same events. At the end tables
say which kinds of faults struck in which phases, and what was done about them. 1 is the exit code where a seed fails.

  --jobs N           in N processes; what is printed and written is the same
  --minutes M        after M minutes no further seeds are begun
  --out FILE.jsonl   a line for each seed, in their order; seeds that the file has are not run again. Of the first five
                     that fail FILE-seed-N.textproto is the plan made as small as it gets, to be run as a scenario
  --replay SEED      shows the plan of a seed and what comes of it; with --out written as a scenario, made small where
                     it fails
  --replay SCENARIO  judges a scenario as a plan

examples:
  rehearse fuzz --seeds 1..1000 --jobs 2
  rehearse fuzz --seeds 1..1000000 --minutes 10 --out out/fuzz.jsonl
  rehearse fuzz --replay 17
)";

constexpr const char* kReplay =
    R"(usage: rehearse replay DIR [--trace FILE [--trace-steps A..B]] [--tensorboard DIR] [--goal FILE]
                       [--chakra PREFIX] [--format text|json]

Runs again what a run with --out recorded in DIR and compares every event and every state with DIR/events.bin as it
goes. Ends with 0 where all are as recorded. Else it stops at the first that differs, ends with 1 and shows both, the
ten before, what each rank was doing, and the likely cause: a file that was changed, another build of rehearse, another
processor. A log that is cut short, damaged or of another version is an error. A job that is counted (job { }) has no
log: it is counted again, and outcome and event_digest are compared with DIR/summary.json.

  --trace FILE, --trace-steps A..B, --tensorboard DIR, --goal FILE, --chakra PREFIX
                  as in rehearse run, of what was run without them

examples:
  rehearse run scenarios/capstone.textproto --out out/capstone
  rehearse replay out/capstone
  rehearse replay out/capstone --trace out/capstone/trace.json --trace-steps 10..12
)";

constexpr const char* kDiff = R"(usage: rehearse diff A B [--format text|json]

Compares two of a kind, prints "identical" and ends with 0, or says where they part and ends with 1:
  runs               directories that runs left with --out. The first event that differs; and, compared by what they
                     are of and not by when they were, the first state: step, rank, component, tensor and element, with
                     both values and their distance. Values come from running both again up to there. States are
                     parameters, reduced gradients, moments, learning rate, batch index, applied steps and losses.
  checkpoints        checkpoint directories, every hash verified: tensors and manifest members that differ
  safetensors files  tensors that differ, with the first element of each

examples:
  rehearse diff out/a out/b
  rehearse diff out/a/checkpoints/step_000010 out/b/checkpoints/step_000010
  rehearse diff out/a/checkpoints/step_000010/model.safetensors out/b/checkpoints/step_000010/model.safetensors
)";

constexpr const char* kReport = R"(usage: rehearse report DIR [--out FILE]
       rehearse report A B [--out FILE]

Makes one HTML page of what a run with --out left in DIR, and prints its path. The page needs nothing else, reads well
on a laptop and on a phone, in light and in dark, and shows values where it is pointed at or touched: what ran and how
it ended, losses with the ways back, what each step's time went to, faults and recoveries, memory, communication with
formulas beside it, the ranks in one step, who sends to whom, and how to repeat the run. Of two runs it shows numbers
and losses side by side.

  --out FILE      another place than DIR/report.html, or comparison.html for two

examples:
  rehearse run scenarios/crash_rolls_back.textproto --out out/crash
  rehearse report out/crash
  rehearse report out/a out/b --out a_and_b.html
)";

constexpr const char* kImport =
    R"(usage: rehearse import nccl-tests FILE [--collective NAME] [--ranks N] [--format text|json]

Reads the table that nccl-tests prints (all_reduce_perf, all_gather_perf, reduce_scatter_perf), fits latency and
bandwidth of a ring's formula to its out-of-place times, with least squares of relative errors, and shows the residuals
and a network for a scenario. What is no such table is refused, and so is one with wrong results.

  --collective NAME   all_reduce, all_gather or reduce_scatter, where the file does not say
  --ranks N           where the file does not list the devices

examples:
  rehearse import nccl-tests all_reduce.txt --collective all_reduce
  rehearse import nccl-tests reduce_scatter.txt --collective reduce_scatter --ranks 16 --format json
)";

constexpr const char* kFields = R"(usage: rehearse fields [PATH]

Prints what a scenario file may say, as the schema's own comments have it: the fields from PATH down, or all, each with
its type, limits and default.

examples:
  rehearse fields
  rehearse fields cluster.network
  rehearse fields train.steps
)";

constexpr const char* kCompletion = R"(usage: rehearse completion bash|zsh

Prints a script that completes commands, options and file names of rehearse in a shell.

examples:
  rehearse completion bash > ~/.local/share/bash-completion/completions/rehearse
  rehearse completion zsh > ~/.zfunc/_rehearse
)";

constexpr const char* kMan = R"(usage: rehearse man

Prints the manual page, made of what --help says.

examples:
  rehearse man > rehearse.1
)";

constexpr const char* kInspect = R"(usage: rehearse inspect PATH [--format text|json]
       rehearse inspect FILE --tensor NAME --npy FILE

Looks into what PATH is:
  a checkpoint directory   verifies every hash, then shows step, layout, schedule, units, shards and tensors
  a safetensors file       names, types, shapes, sizes and SHA-256 of its tensors
  a scenario               its canonical text, defaults written out, and its hashes

  --tensor NAME --npy FILE write this tensor of a safetensors file as a NumPy file

examples:
  rehearse inspect out/capstone/checkpoints/step_000010
  rehearse inspect out/capstone/checkpoints/step_000010/model.safetensors
  rehearse inspect scenarios/capstone.textproto
)";

}  // namespace

const std::vector<std::string>& command_names() {
  static const std::vector<std::string> kNames = {"run",    "resume",     "check",  "cost",    "fuzz",
                                                  "replay", "diff",       "report", "inspect", "import",
                                                  "fields", "completion", "man"};
  return kNames;
}

std::string general_help() { return std::string("rehearse ") + version() + kGeneral; }

std::string command_help(std::string_view command) {
  if (command == "run") return kRun;
  if (command == "resume") return kResume;
  if (command == "check") return kCheck;
  if (command == "cost") return kCost;
  if (command == "fuzz") return kFuzz;
  if (command == "replay") return kReplay;
  if (command == "diff") return kDiff;
  if (command == "report") return kReport;
  if (command == "import") return kImport;
  if (command == "fields") return kFields;
  if (command == "completion") return kCompletion;
  if (command == "man") return kMan;
  CHECK(command == "inspect");
  return kInspect;
}

}  // namespace rehearse
