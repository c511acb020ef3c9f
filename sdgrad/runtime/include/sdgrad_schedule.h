// Schedules of checkpoints: which states of a loop are kept, which trips are taped, and what runs again, so that the
// trips run backwards within some room and as few as possible run forwards.
//
// A state takes `state` units of the room, and the tape of one trip `tape` units. A tape may stay until its trip runs
// backwards (J. R. Maddison, Step-based checkpointing with high-level algorithmic differentiation, Journal of
// Computational Science 82, 2024), which needs fewer runs than states alone (A. Griewank and A. Walther, Algorithm 799:
// Revolve, ACM TOMS 26, 2000). Up to a number of trips the least count is found by dynamic programming; longer ranges
// are split as Revolve splits them. States and tapes lie in the order of their trips, so that the room is a stack.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <tuple>
#include <vector>

namespace sdgrad {

constexpr int64_t NEVER = int64_t(1) << 56;         // trips that run where nothing fits
constexpr int64_t SPLITS_TRIED = int64_t(1) << 27;  // for one table: a fifth of a second

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

// What is best at the start of a range of trips, by the free room. More room than for a state or a tape of each trip of
// the longest range makes no difference.
class CheckpointTable {
  public:
    enum : int32_t { TAPE = -1, SAVE = -2, IMPOSSIBLE = 0 };  // or how far the next state is kept

    CheckpointTable(int64_t trips, int64_t state, int64_t tape, int64_t room, bool mixed, int64_t tried = SPLITS_TRIED)
        : state(state), tape(tape), mixed(mixed), most(trips) {
        const auto useful = [&] { return std::min(room, most * std::max(state, tape) + tape); };
        while (most > 64 && most * most / 2 * (useful() + 1) > tried) most -= most / 8;
        width = useful() + 1;
        free.resize((most + 1) * width, NEVER), kept = free;
        at_free.resize(free.size(), IMPOSSIBLE), at_kept = at_free;
        for (int64_t m = 0; m < width; ++m) free[m] = kept[m] = 0;
        for (int64_t n = 1; n <= most; ++n) fill(n);
    }

    // The choice for `n` trips with `m` free units; `is_kept`: the state at their start is kept, beside these.
    int64_t choice(int64_t n, int64_t m, bool is_kept) const {
        if (n <= most) return (is_kept ? at_kept : at_free)[n * width + std::min(m, width - 1)];
        if (mixed && m + (is_kept ? state : 0) >= n * tape) return TAPE;
        if (state == 0) return is_kept ? 1 : SAVE;
        const int64_t count = m < tape ? 0 : (m - tape) / state;
        if (!is_kept) return count >= 1 ? SAVE : IMPOSSIBLE;
        return split_of_states(n, count + 1);
    }

  private:
    int64_t state, tape;
    bool mixed;
    int64_t most, width;               // trips of the longest range, and rooms
    std::vector<int64_t> free, kept;  // trips that run forwards, those that are taped among them
    std::vector<int32_t> at_free, at_kept;

    int64_t taped(int64_t n, int64_t m) const {
        if (m < tape) return NEVER;
        return n == 1 ? 1 : mixed ? 1 + free[(n - 1) * width + std::min(m - tape, width - 1)] : NEVER;
    }

    void fill(int64_t n) {
        const int64_t row = n * width;
        for (int64_t m = 0; m < width; ++m) {
            int64_t best = taped(n, m + state), at = TAPE;
            for (int64_t j = 1; j < n; ++j) {  // the count has several local minima in j
                const int64_t found = j + free[(n - j) * width + m] + kept[j * width + m];
                if (found < best) best = found, at = j;
            }
            if (best < NEVER) kept[row + m] = best, at_kept[row + m] = int32_t(at);
            best = taped(n, m), at = TAPE;
            if (m >= state && kept[row + m - state] < best) best = kept[row + m - state], at = SAVE;
            if (best < NEVER) free[row + m] = best, at_free[row + m] = int32_t(at);
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
// have different ones. States that take no unit have an array of their own, with a place for each trip.
struct CheckpointSchedule {
    struct Item {
        int64_t is_state, first, last, place;  // of trips
    };

    int64_t ahead, left;              // 1: there is another part of the way forwards; of that backwards
    int64_t restore, save;            // places; -1: none
    int64_t first, taped, last;       // trips from `first` run, those from `taped` on with a tape, up to `last`
    int64_t into, into_unit;          // place of the tape of the first of these
    int64_t until, back;              // trips before `back` run backwards, down to `until`
    int64_t out_of, out_of_unit;      // place of the tape of that one
    int64_t state, tape, room, apart;
    const CheckpointTable *table;
    int64_t at, open, top, count;     // the trip whose state is there, trips left to run backwards, room and items in use
    Item items[1];                    // as many as schedule_items says

    // Find the next part of the way forwards, or of that backwards, which begins when the first one is over.
    void next(bool backwards) {
        restore = save = -1, into = into_unit = until = back = out_of = out_of_unit = 0;
        first = taped = last = at;
        if (backwards && at == open && count > 0 && items[count - 1].is_state) {
            at = first = taped = last = items[count - 1].first;
            restore = place_of_state(items[count - 1]);
        }
        go();
        if (backwards && at == open && open > 0) reverse();
        ahead = at < open, left = open > 0;
    }

  private:
    int64_t place_of_state(const Item &item) const {
        return state == 0 ? item.first : apart ? item.place / state : item.place;
    }

    bool is_kept() const { return count > 0 && items[count - 1].is_state && items[count - 1].first == at; }

    void go() {
        while (at < open) {
            const int64_t choice = table->choice(open - at, room - top, is_kept());
            if (choice == CheckpointTable::TAPE) {
                if (is_kept()) top = items[--count].place;
                tape_one();
            } else if (choice == CheckpointTable::SAVE) {
                if (last > first || save >= 0) return;
                items[count++] = {1, at, at, top};
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
        if (count == 0 || items[count - 1].is_state || taped == last) items[count++] = {0, at, at, top};
        items[count - 1].last = last = ++at;
        top += tape;
    }

    void reverse() {
        const Item taken = items[--count];
        back = taken.last, until = taken.first, out_of = taken.place / tape;
        out_of_unit = apart ? 0 : taken.place % tape;
        open = at = taken.first;
        top = taken.place;
        while (count > 0 && items[count - 1].is_state && items[count - 1].first == open) top = items[--count].place;
    }
};

// The most items that are in use at once: states, and a run of tapes after each and before the first.
inline int64_t schedule_items(int64_t trips, int64_t state, int64_t room) {
    return 2 * std::min(trips, state == 0 ? trips : room / state) + 2;
}

// `mixed`: tapes may stay until their trips run backwards.
inline void start_schedule(int64_t trips, int64_t state, int64_t tape, int64_t room, bool apart, int64_t *numbers,
                           bool mixed = true) {
    auto &schedule = *reinterpret_cast<CheckpointSchedule *>(numbers);
    trips = std::max(trips, int64_t(0));
    const CheckpointTable &table = checkpoint_table(trips, state, tape, room, mixed);
    if (trips > 0 && table.choice(trips, room, false) == CheckpointTable::IMPOSSIBLE)
        throw std::length_error("the room for states and tapes of a loop is less than one state and the tape of a trip");
    std::fill_n(numbers, 13, 0);
    schedule.state = state, schedule.tape = tape, schedule.room = room, schedule.apart = apart, schedule.table = &table;
    schedule.at = schedule.top = schedule.count = 0, schedule.open = trips;
    schedule.ahead = schedule.left = trips > 0;
}

}  // namespace sdgrad
