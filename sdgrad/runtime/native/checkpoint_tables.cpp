// Tables of checkpoints: the least number of trips that run forwards, by the length of a range and its room. Compiled
// once on a machine, for all programs whose loops have schedules (sdgrad_schedule.h).
#include "sdgrad_schedule.h"

#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <tuple>
#include <vector>

namespace sdgrad {

constexpr int32_t TOO_MANY = int32_t(1) << 29;       // trips that run where nothing fits: a third of what 32 bits hold
constexpr int64_t SPLITS_TRIED = int64_t(1) << 27;   // for one table: a fifth of a second
constexpr int64_t LARGEST_TABLE = int64_t(1) << 17;  // ranges and rooms: two megabytes

// How many trips run backwards in some free units if none runs forwards more than a number of times, the level: either
// the first one is taped, or the state at their start is kept; then some first trips run once to be passed, and again one
// time less at most. Of states alone these are Revolve's binomial coefficients.
class ReversibleTrips {
  public:
    ReversibleTrips(int64_t trips, int64_t state, int64_t tape, int64_t room) : state(state), tape(tape), width(room + 1) {
        add_level();  // of no runs
        while (free.back()[room] < trips && int64_t(free.size()) <= trips + 1) add_level(trips);
    }

    // Where the next state of a range is kept whose first state is kept, with `m` free units; 0: the first trip is taped.
    int64_t split(int64_t n, int64_t m) const {
        if (m + state >= n * tape) return 0;
        const int64_t t = level(kept, n, m);
        const int64_t least = std::max<int64_t>(1, n - free[t][m]), most = std::min(n - 1, kept[t - 1][m]);
        return std::clamp(n - free[t - 1][m], std::min(least, most), std::max(least, most));
    }

    // True if the first trip of a range is taped, and the state at its start not kept.
    bool tapes_first(int64_t n, int64_t m) const {
        if (m >= n * tape) return true;
        const int64_t taped = m >= tape ? 1 + runs(free, n - 1, m - tape) : NEVER;
        return taped < (m >= state ? runs(kept, n, m - state) : NEVER);
    }

  private:
    using Levels = std::vector<std::vector<int64_t>>;
    int64_t state, tape, width;
    Levels free, kept;  // by level and free units

    void add_level(int64_t most = 0) {
        std::vector<int64_t> now(width, 0), beside(width, 0);
        for (int64_t m = 0; m < width && most > 0; ++m) {
            if (m >= state) beside[m - state] = with_state(m - state, now, most);
            now[m] = m / tape;
            if (m >= tape) now[m] = std::max(now[m], 1 + now[m - tape]);
            if (m >= state) now[m] = std::max(now[m], beside[m - state]);
            now[m] = std::min(now[m], most);
        }
        for (int64_t m = std::max<int64_t>(0, width - state); m < width && most > 0; ++m)
            beside[m] = with_state(m, now, most);
        free.push_back(std::move(now)), kept.push_back(std::move(beside));
    }

    int64_t with_state(int64_t m, const std::vector<int64_t> &now, int64_t most) const {
        const int64_t split = free.size() > 1 ? kept.back()[m] + now[m] : 0;
        return std::min(most, std::max((m + state) / tape, split));
    }

    static int64_t level(const Levels &of, int64_t n, int64_t m) {
        int64_t t = 1;
        while (t < int64_t(of.size()) - 1 && of[t][m] < n) ++t;
        return t;
    }

    // About how many trips run: those that can run once do, others twice, and so on.
    static int64_t runs(const Levels &of, int64_t n, int64_t m) {
        int64_t fewer = 0;
        for (int64_t t = 1; t < int64_t(of.size()); ++t) {
            if (of[t][m] >= n) return t * n - fewer;
            fewer += of[t][m];
        }
        return NEVER;
    }
};

// What is best at the start of a range of trips, by the free room (sdgrad_schedule.h). More room than for a state or a tape of each trip of
// the longest range makes no difference.
class CheckpointTable {
  public:
    CheckpointTable(int64_t trips, int64_t state, int64_t tape, int64_t room, bool mixed, int64_t tried = SPLITS_TRIED)
        : state(state), tape(tape), mixed(mixed), most(trips) {
        const auto useful = [&] { return std::min(room, most * std::max(state, tape) + tape); };
        const auto is_long = [&] {
            return most * most / 2 * (useful() + 1) > tried || most * (useful() + 1) > LARGEST_TABLE;
        };
        while (most > 16 && is_long()) most -= std::max<int64_t>(1, most / 8);
        if (most < trips && mixed && state > 0)
            longer = std::make_unique<const ReversibleTrips>(trips, state, tape, std::min(room, trips * tape));
        width = useful() + 1;
        free.resize((most + 1) * width, TOO_MANY), kept = free;
        at_free.resize(free.size(), IMPOSSIBLE), at_kept = at_free;
        for (int64_t m = 0; m < width; ++m) free[m] = kept[m] = 0;
        for (int64_t n = 1; n <= most; ++n) fill(n);
    }

    int64_t choice(int64_t n, int64_t m, bool is_kept) const {
        if (n <= most) return (is_kept ? at_kept : at_free)[n * width + std::min(m, width - 1)];
        if (mixed && m + (is_kept ? state : 0) >= n * tape) return TAPE;
        if (state == 0) return is_kept ? 1 : SAVE;
        if (longer) {
            if (is_kept) return longer->split(n, m);
            return longer->tapes_first(n, m) ? TAPE : m >= state ? SAVE : IMPOSSIBLE;
        }
        const int64_t count = m < tape ? 0 : (m - tape) / state;
        if (!is_kept) return count >= 1 ? SAVE : IMPOSSIBLE;
        return split_of_states(n, count + 1);
    }

  private:
    int64_t state, tape;
    bool mixed;
    int64_t most, width;               // trips of the longest range, and rooms
    std::vector<int32_t> free, kept;  // trips that run forwards, those that are taped among them
    std::vector<int32_t> at_free, at_kept;
    std::unique_ptr<const ReversibleTrips> longer;  // for ranges that are no part of the table

    int32_t taped(int64_t n, int64_t m) const {
        if (m < tape) return TOO_MANY;
        return n == 1 ? 1 : mixed ? 1 + free[(n - 1) * width + std::min(m - tape, width - 1)] : TOO_MANY;
    }

    void fill(int64_t n) {
        const int64_t row = n * width;
        for (int64_t m = 0; m < width; ++m) {
            int32_t best = taped(n, m + state), at = TAPE;
            for (int32_t j = 1; j < n; ++j) {  // the count has several local minima in j
                const int32_t found = j + free[(n - j) * width + m] + kept[j * width + m];
                if (found < best) best = found, at = j;
            }
            if (best < TOO_MANY) kept[row + m] = best, at_kept[row + m] = at;
            best = taped(n, m), at = TAPE;
            if (m >= state && kept[row + m - state] < best) best = kept[row + m - state], at = SAVE;
            if (best < TOO_MANY) free[row + m] = best, at_free[row + m] = at;
        }
    }
};

const CheckpointTable &checkpoint_table(int64_t trips, int64_t state, int64_t tape, int64_t room, bool mixed) {
    static std::mutex entering;
    static std::map<std::tuple<int64_t, int64_t, int64_t, int64_t, bool>, std::unique_ptr<const CheckpointTable>> known;
    const std::lock_guard<std::mutex> now(entering);
    auto &found = known[{trips, state, tape, room, mixed}];
    if (!found) found = std::make_unique<const CheckpointTable>(trips, state, tape, room, mixed);
    return *found;
}

int64_t choice_of(const CheckpointTable &table, int64_t n, int64_t m, bool is_kept) { return table.choice(n, m, is_kept); }

void refuse_room() {
    throw std::length_error("the room for states and tapes of a loop is less than one state and the tape of a trip");
}

}  // namespace sdgrad
