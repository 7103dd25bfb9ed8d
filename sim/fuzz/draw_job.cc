#include <algorithm>
#include <string>

#include "sim/fuzz/job_shape.h"

namespace rehearse {
namespace {

constexpr std::int64_t kLastRank = 5;

TextGroup draw_storage(Dice& dice) {
  TextGroup storage;
  storage.add_quoted("latency", dice.microseconds(1, 20));
  if (dice.chance(1, 2)) storage.add_quoted("bandwidth", dice.word_of({"1Gbps", "10Gbps", "40Gbps"}));
  return storage;
}

class JobDrawing {
 public:
  JobDrawing(const RandomStream& stream, TextGroup& scenario) : stream_(stream), scenario_(scenario) {}

  JobShape draw() {
    TextGroup cluster;
    draw_layout(cluster);
    TextGroup recovery = draw_recovery();
    cluster.add_group("network", draw_network());
    Dice dice(stream_.fork("storage"));
    if (dice.chance(1, 6)) {
      TextGroup slowdown;
      slowdown.add("rank", dice.below(shape_.ranks)).add("factor", dice.word_of({"1.5", "2", "10"}));
      cluster.group("device").add_group("slowdown", std::move(slowdown));
    }
    cluster.add_group("storage", draw_storage(dice));
    scenario_.add_group("cluster", std::move(cluster));
    scenario_.add_group("model", draw_model());
    TextGroup markov;
    markov.add("kind", "MARKOV").add("states", 4).add("noise", dice.word_of({"0", "0.25"}));
    scenario_.group("data").add_group("synthetic", std::move(markov));
    scenario_.add_group("train", draw_train());
    TextGroup checkpoint = draw_checkpoint();
    if (!checkpoint.empty()) scenario_.add_group("checkpoint", std::move(checkpoint));
    scenario_.add_group("recovery", std::move(recovery));
    shape_.span = shape_.steps * (40 + 14 * shape_.ranks * latency_);
    return shape_;
  }

 private:
  void draw_layout(TextGroup& cluster) {
    Dice dice(stream_.fork("layout"));
    shape_.ranks = dice.chance(1, 12) ? 1 : dice.between(2, dice.chance(1, 2) ? 4 : kLastRank + 1);
    shape_.has_hosts = shape_.ranks > 1 && dice.chance(2, 5);
    if (shape_.has_hosts) shape_.ranks_per_host = dice.between(1, std::min<std::int64_t>(shape_.ranks, 3));
    cluster.add("ranks", shape_.ranks);
    if (!shape_.has_hosts) return;
    cluster.add("ranks_per_host", shape_.ranks_per_host);
    if (dice.chance(1, 2)) shape_.hosts_per_rack = dice.between(1, 2);
    if (shape_.hosts_per_rack > 0) cluster.add("hosts_per_rack", shape_.hosts_per_rack);
  }

  TextGroup draw_recovery() {
    Dice dice(stream_.fork("recovery"));
    TextGroup recovery;
    recovery.add("max_restarts", dice.chance(1, 6) ? dice.between(0, 3) : 200);
    recovery.add_quoted("restart_delay", dice.microseconds(1, 500));
    heartbeat_ = dice.between(100, 1000);
    recovery.add_quoted("heartbeat_timeout", std::to_string(heartbeat_) + "us");
    recovery.add_quoted("collective_timeout", std::to_string(dice.between(10, 30)) + "ms");
    recovery.add_quoted("rendezvous_timeout", dice.microseconds(500, 5000));
    if (dice.chance(1, 4)) recovery.add_quoted("heartbeat_interval", dice.microseconds(1, heartbeat_ / 2));
    shape_.is_elastic = shape_.ranks > 1 && dice.chance(1, 4);
    if (shape_.is_elastic) {
      recovery.add("mode", "ELASTIC");
      if (dice.chance(1, 3)) recovery.add("min_ranks", dice.between(1, shape_.ranks));
    }
    if (dice.chance(1, 3)) recovery.add("spares", dice.between(1, 2));
    return recovery;
  }

  TextGroup draw_network() {
    Dice dice(stream_.fork("network"));
    TextGroup network;
    latency_ = dice.between(1, 20);
    network.add_quoted("latency", std::to_string(latency_) + "us");
    network.add_quoted("bandwidth", dice.word_of({"1Gbps", "10Gbps", "100Gbps"}));
    const bool jitters = dice.chance(1, 4);
    const std::string jitter = dice.microseconds(1, 20);
    shape_.has_plain_network = dice.chance(2, 3);
    if (shape_.has_plain_network) {
      if (jitters) network.add_quoted("jitter", jitter);
      if (!dice.chance(1, 2)) return network;
      TextGroup& transport = network.group("transport");
      if (dice.chance(1, 2)) transport.add_quoted("retransmission_timeout", dice.microseconds(20, 200));
      if (dice.chance(1, 2)) transport.add("max_retries", dice.between(2, 20));
      return network;
    }
    // An elastic job has one switch or a full mesh.
    const std::int64_t kind = dice.below(shape_.is_elastic ? 4 : 8);
    if (kind == 0) return network.add("fabric", "IDEAL");
    if (jitters) network.add_quoted("jitter", jitter);
    if (dice.chance(1, 3)) network.add_quoted("overhead", dice.word_of({"100ns", "1us"}));
    if (kind != 1 && dice.chance(1, 2)) network.add("fabric", dice.word_of({"MAX_MIN", "ALPHA_BETA"}));
    TextGroup topology;
    if (kind == 1) network.add("fabric", dice.word_of({"MAX_MIN", "ALPHA_BETA"}));
    if (kind == 2 && shape_.ranks > 1) topology.add_group("full_mesh", TextGroup());
    if (kind == 4 && shape_.ranks > 2) topology.add_group("ring", TextGroup());
    if (kind == 5) topology.group("torus").add("x", shape_.ranks);
    if (kind == 6) topology.group("leaf_spine").add("ports_per_leaf", dice.between(1, 3)).add("spines", 2);
    if (kind == 7 && shape_.has_hosts) {
      TextGroup hosts;
      hosts.add_quoted("latency", "1us").add_quoted("bandwidth", "200Gbps");
      topology.add_group("hosts", std::move(hosts));
    }
    if (!topology.empty()) network.add_group("topology", std::move(topology));
    return network;
  }

  TextGroup draw_model() {
    Dice dice(stream_.fork("model"));
    ModelConfig& model = shape_.model;
    model.layers = dice.chance(1, 5) ? 2 : 1;
    model.embed = dice.one_of<std::int64_t>({4, 8});
    model.heads = dice.between(1, 2);
    model.vocab = dice.one_of<std::int64_t>({4, 8});
    model.context = dice.between(2, 4);
    TextGroup text;
    text.add("layers", model.layers).add("embed", model.embed).add("heads", model.heads).add("vocab", model.vocab);
    text.add("context", model.context);
    if (!dice.chance(1, 8)) return text;
    shape_.element_bytes = 8;
    return text.add("dtype", "FLOAT64");
  }

  TextGroup draw_train() {
    Dice dice(stream_.fork("train"));
    shape_.steps = dice.between(2, 8);
    const std::int64_t accumulate = dice.between(1, 2);
    shape_.microbatch = dice.between(1, 2);
    shape_.zero_stage = dice.between(0, 1);
    if (dice.chance(1, 2)) shape_.bucket = dice.one_of<std::int64_t>({600, 2000, 5000});
    TextGroup train;
    train.add("steps", shape_.steps).add("batch", accumulate * shape_.microbatch);
    if (accumulate > 1) train.add("accumulate", accumulate);
    train.add("zero_stage", shape_.zero_stage);
    if (shape_.bucket > 0) train.add_quoted("bucket", std::to_string(shape_.bucket) + "B");
    if (dice.chance(1, 3)) train.add("clip_norm", dice.word_of({"0.1", "1"}));
    TextGroup adam;
    adam.add("lr", dice.word_of({"0.001", "0.01"}));
    if (dice.chance(1, 3)) adam.add("weight_decay", "0.1");
    train.add_group("adam", std::move(adam));
    if (dice.chance(1, 4)) {
      train.group("schedule").add("warmup_steps", dice.between(1, shape_.steps)).add("cosine", "true");
    }
    if (dice.chance(1, 5)) train.add("eval_every", dice.between(1, 4));
    if (dice.chance(1, 3)) draw_collectives(dice, train);
    return train;
  }

  void draw_collectives(Dice& dice, TextGroup& train) {
    TextGroup& collectives = train.group("collectives");
    if (shape_.zero_stage == 0) {
      collectives.add("all_reduce", dice.word_of({"HALVING_DOUBLING", "RECURSIVE_DOUBLING", "BINOMIAL_TREE",
                                                  "DOUBLE_BINARY_TREE", "AUTO"}));
      return;
    }
    collectives.add("reduce_scatter", dice.word_of({"RECURSIVE_HALVING", "DIRECT", "AUTO", "RING"}));
    collectives.add("all_gather", dice.word_of({"RECURSIVE_DOUBLING", "DIRECT", "AUTO", "RING"}));
  }

  TextGroup draw_checkpoint() {
    Dice dice(stream_.fork("checkpoint"));
    TextGroup checkpoint;
    shape_.saves = dice.chance(9, 10);
    if (!shape_.saves) return checkpoint;
    const bool by_time = dice.chance(1, 6);
    if (by_time) checkpoint.add_quoted("every", dice.microseconds(50, 500));
    if (!by_time || dice.chance(1, 3)) {
      shape_.checkpoint_every = dice.between(1, std::min<std::int64_t>(shape_.steps, 3));
      checkpoint.add("every_steps", shape_.checkpoint_every);
    }
    if (dice.chance(1, 3)) checkpoint.add("asynchronous", "true");
    if (dice.chance(2, 3)) checkpoint.add("keep", dice.between(1, 3));
    shape_.has_tiers = dice.chance(1, 4);
    if (!shape_.has_tiers) return checkpoint;
    TextGroup tiers;
    tiers.add("upload_every", dice.between(1, 3));
    if (shape_.hosts() > 1 && dice.chance(1, 3)) tiers.add("replica_distance", dice.below(shape_.hosts()));
    tiers.add_group("local_disk", draw_storage(dice));
    checkpoint.add_group("tiers", std::move(tiers));
    return checkpoint;
  }

  RandomStream stream_;
  TextGroup& scenario_;
  JobShape shape_;
  std::int64_t latency_ = 1;
  std::int64_t heartbeat_ = 1;
};

}  // namespace

JobShape draw_job(const RandomStream& stream, TextGroup& scenario) { return JobDrawing(stream, scenario).draw(); }

}  // namespace rehearse
