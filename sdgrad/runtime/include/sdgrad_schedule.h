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

namespace sdgrad {

constexpr int64_t NEVER = int64_t(1) << 56;  // trips that run where nothing fits

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

// What is best at the start of a range of trips, by the free room: how far the next state is kept, or one of these.
// Tables are compiled once for all programs (native/checkpoint_tables.cpp): they take longer than most programs.
class CheckpointTable;
enum Choice : int32_t { TAPE = -1, SAVE = -2, IMPOSSIBLE = 0 };

// The table for these numbers; it stays until the process ends.
const CheckpointTable &checkpoint_table(int64_t trips, int64_t state, int64_t tape, int64_t room, bool mixed);

// The choice for `n` trips with `m` free units; `is_kept`: the state at their start is kept, beside these.
int64_t choice_of(const CheckpointTable &table, int64_t n, int64_t m, bool is_kept);

// Throw an error: the room is less than one state and the tape of a trip.
[[noreturn]] void refuse_room();

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
            const int64_t choice = choice_of(*table, open - at, room - top, is_kept());
            if (choice == TAPE) {
                if (is_kept()) top = items[--count].place;
                tape_one();
            } else if (choice == SAVE) {
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
    if (trips > 0 && choice_of(table, longest, room, false) == IMPOSSIBLE) refuse_room();
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
