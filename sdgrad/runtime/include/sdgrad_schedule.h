// Schedules of checkpoints: which states of a loop are kept, which trips are taped, and what runs again, so that the
// trips run backwards within some room and as few as possible run forwards.
//
// A state takes `state` units of the room, and the tape of one trip `tape` units. A tape may stay until its trip runs
// backwards (J. R. Maddison, Step-based checkpointing with high-level algorithmic differentiation, Journal of
// Computational Science 82, 2024), which needs fewer runs than states alone (A. Griewank and A. Walther, Algorithm 799:
// Revolve, ACM TOMS 26, 2000). Up to a number of trips the least count is found by dynamic programming; longer ranges
// are split by how many trips can run backwards with so many runs of each, which takes up to a fiftieth more runs.
// States and tapes lie in the order of their trips, so that the room is a stack.
//
// Where a disk holds states, too, trips are taken in blocks. The states at the start of some blocks are on the disk, as
// Revolve has it, in the best case of all but the last one; each block runs backwards in the room, from its state. Blocks
// of one length are next to the best (G. Aupy, J. Herrmann, P. Hovland and Y. Robert, Optimal multistage algorithm for
// adjoint computation, SIAM J. Sci. Comput. 38, 2016; J. Herrmann and G. Pallez, H-Revolve, ACM TOMS 46, 2020).
#pragma once

#include "sdgrad_files.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <tuple>
#include <vector>

namespace sdgrad {

constexpr int64_t NEVER = int64_t(1) << 56;           // trips that run where nothing fits
constexpr int32_t TOO_MANY = int32_t(1) << 29;        // the same in a table: a third of what 32 bits hold
constexpr int64_t SPLITS_TRIED = int64_t(1) << 27;    // for one table: a fifth of a second
constexpr int64_t LARGEST_TABLE = int64_t(1) << 17;   // ranges and rooms: two megabytes

// The number of trips that `count` states reverse if none runs forwards more than `again` times.
inline int64_t reversible(int64_t count, int64_t again) {
    if (again < 0 || count < 0) return 0;
    int64_t found = 1;
    for (int64_t k = 1; k <= std::min(count, again); ++k) {
        if (found > NEVER / (count + again)) return NEVER;
        found = found * (std::max(count, again) + k) / k;
    }
    return found;
}

// How far the next state of a range is kept, with `count` states for it, the one at its start among them (Revolve).
inline int64_t split_of_states(int64_t trips, int64_t count) {
    int64_t again = 1;
    while (reversible(count, again) < trips) ++again;
    const int64_t least = trips - reversible(count - 1, again);
    return std::clamp(std::max(reversible(count, again - 2), least), int64_t(1), trips - 1);
}

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

// What is best at the start of a range of trips, by the free room. More room than for a state or a tape of each trip of
// the longest range makes no difference.
class CheckpointTable {
  public:
    enum : int32_t { TAPE = -1, SAVE = -2, IMPOSSIBLE = 0 };  // or how far the next state is kept

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

    // The choice for `n` trips with `m` free units; `is_kept`: the state at their start is kept, beside these.
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

// The table for these numbers; it stays until the process ends.
inline const CheckpointTable &checkpoint_table(int64_t trips, int64_t state, int64_t tape, int64_t room, bool mixed) {
    static std::mutex entering;
    static std::map<std::tuple<int64_t, int64_t, int64_t, int64_t, bool>, std::unique_ptr<const CheckpointTable>> known;
    const std::lock_guard<std::mutex> now(entering);
    auto &found = known[{trips, state, tape, room, mixed}];
    if (!found) found = std::make_unique<const CheckpointTable>(trips, state, tape, room, mixed);
    return *found;
}

// A schedule on its way: numbers only, so that a program keeps it in an array, and a copy of that array starts again
// where the first one was. A program reads the first ones, which say what runs next, in this order: put a state back,
// keep it, run trips, run trips with a tape, run these backwards.
//
// Where states and tapes share a room, a state's place is given in units, and that of a tape in tapes, and units more.
// Where they have arrays of their own (`apart`), both are given in places of these arrays: things that are in use at once
// have different ones. States that take no unit have an array of their own, with a place for each trip. A place of the
// disk is -2, -3, ..
struct CheckpointSchedule {
    enum : int64_t { A_TAPE, IN_MEMORY, ON_DISK };
    struct Item {
        int64_t kind, first, last, place;  // of trips
    };

    int64_t ahead, left;              // 1: there is another part of the way forwards; of that backwards
    int64_t restore, save;            // places; -1: none
    int64_t first, taped, last;       // trips from `first` run, those from `taped` on with a tape, up to `last`
    int64_t into, into_unit;          // place of the tape of the first of these
    int64_t until, back;              // trips before `back` run backwards, down to `until`
    int64_t out_of, out_of_unit;      // place of the tape of that one
    int64_t state, tape, room, apart;
    int64_t block, places, on_disk;   // trips of a block, or 0: no state is on the disk; places there, and those in use
    const CheckpointTable *table;
    int64_t at, open, top, count;     // the trip whose state is there, trips left to run backwards, room and items in use
    Item items[1];                    // as many as schedule_items says

    // Find the next part of the way forwards, or of that backwards, which begins when the first one is over.
    void next(bool backwards) {
        restore = save = -1, into = into_unit = until = back = out_of = out_of_unit = 0;
        first = taped = last = at;
        leave_files(block > 0);
        if (backwards && at == open && count > 0 && items[count - 1].kind != A_TAPE) {
            at = first = taped = last = items[count - 1].first;
            restore = place_of_state(items[count - 1]);
            if (items[count - 1].kind == ON_DISK && open - at <= block) --count, --on_disk;
        }
        go();
        if (backwards && at == open && open > 0) reverse();
        ahead = at < open, left = open > 0;
    }

  private:
    int64_t place_of_state(const Item &item) const {
        if (item.kind == ON_DISK) return -2 - item.place;
        return state == 0 ? item.first : apart ? item.place / state : item.place;
    }

    bool is_kept() const { return count > 0 && items[count - 1].kind != A_TAPE && items[count - 1].first == at; }

    void go() {
        while (at < open) {
            if (block > 0 && open - at > block) {  // nothing is in the room
                if (!is_kept()) {
                    if (last > first) return;
                    items[count++] = {ON_DISK, at, at, on_disk++};
                    save = place_of_state(items[count - 1]);
                }
                taped = last = at += block * split_of_states((open - at + block - 1) / block, places - on_disk + 1);
                continue;
            }
            const int64_t choice = table->choice(open - at, room - top, is_kept());
            if (choice == CheckpointTable::TAPE) {
                if (is_kept()) top = items[--count].place;
                tape_one();
            } else if (choice == CheckpointTable::SAVE) {
                if (last > first || save != -1) return;
                items[count++] = {IN_MEMORY, at, at, top};
                save = place_of_state(items[count - 1]);
                top += state;
            } else {
                if (last > taped) return;
                at += choice;
                taped = last = at;
            }
        }
    }

    void tape_one() {
        if (taped == last) into = top / tape, into_unit = apart ? 0 : top % tape;
        if (count == 0 || items[count - 1].kind != A_TAPE || taped == last) items[count++] = {A_TAPE, at, at, top};
        items[count - 1].last = last = ++at;
        top += tape;
    }

    void reverse() {
        const Item taken = items[--count];
        back = taken.last, until = taken.first, out_of = taken.place / tape;
        out_of_unit = apart ? 0 : taken.place % tape;
        open = at = taken.first;
        top = taken.place;
        while (count > 0 && items[count - 1].kind == IN_MEMORY && items[count - 1].first == open) top = items[--count].place;
    }
};

// The most items that are in use at once: states, and a run of tapes after each and before the first.
inline int64_t schedule_items(int64_t trips, int64_t state, int64_t room, int64_t block = 0, int64_t places = 0) {
    const int64_t each = block > 0 ? std::min(trips, block) : trips;
    return places + 2 * std::min(each, state == 0 ? each : room / state) + 2;
}

// `mixed`: tapes may stay until their trips run backwards; `block`: trips of a block, or 0; `places`: on the disk.
inline void start_schedule(int64_t trips, int64_t state, int64_t tape, int64_t room, bool apart, int64_t block,
                           int64_t places, int64_t *numbers, bool mixed = true) {
    auto &schedule = *reinterpret_cast<CheckpointSchedule *>(numbers);
    trips = std::max(trips, int64_t(0));
    const int64_t longest = block > 0 ? std::min(trips, block) : trips;
    const CheckpointTable &table = checkpoint_table(longest, state, tape, room, mixed);
    if (trips > 0 && table.choice(longest, room, false) == CheckpointTable::IMPOSSIBLE)
        throw std::length_error("the room for states and tapes of a loop is less than one state and the tape of a trip");
    std::fill_n(numbers, 13, 0);
    schedule.state = state, schedule.tape = tape, schedule.room = room, schedule.apart = apart;
    schedule.block = block, schedule.places = places, schedule.on_disk = 0;
    schedule.at = schedule.top = schedule.count = 0, schedule.open = trips, schedule.table = &table;
    schedule.ahead = schedule.left = trips > 0;
}

// With places for some states, and for the tape of one trip at a time (Revolve): a tape takes more than half of the room.
inline void start_schedule_of_states(int64_t states, int64_t trips, int64_t block, int64_t places, int64_t *numbers) {
    start_schedule(trips, 1, states + 1, 2 * states + 1, true, block, places, numbers, false);
}

}  // namespace sdgrad
