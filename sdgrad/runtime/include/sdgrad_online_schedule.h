// Schedules of checkpoints of a loop whose number of trips nobody knows while it runs forwards.
//
// Trips are taken in blocks. The way forwards keeps the states at the start of some blocks: the first block's, and
// others as Q. Wang, P. Moin and G. Iaccarino choose them (Minimal repetition dynamic checkpointing algorithm for
// unsteady adjoint calculation, SIAM J. Sci. Comput. 31, 2009), so that no block runs more often than it has to for that
// many blocks. The way backwards puts the last state back, keeps states after it where places are free (Revolve:
// A. Griewank and A. Walther, Algorithm 799, ACM TOMS 26, 2000), tapes the trips of the last block, and runs them
// backwards.
#pragma once

#include "sdgrad_schedule.h"

namespace sdgrad {

// Numbers only, as a CheckpointSchedule, of which the first ones have the same meaning.
struct OnlineSchedule {
    struct Item {
        int64_t first, level, place;  // trip at which the state was kept; it goes before later ones of a higher level
    };

    int64_t ahead, left;
    int64_t restore, save;
    int64_t first, taped, last;
    int64_t into, into_unit;
    int64_t until, back;
    int64_t out_of, out_of_unit;
    int64_t places, block;   // states that there is room for, and trips of a block
    int64_t on_disk;         // 1: that room is on the disk
    int64_t at, open;        // the trip whose state is there, and trips left to run backwards
    int64_t count, arrived;  // states in use, and 1 if the trip at hand is where the next one is kept
    Item items[1];           // as many as places: after those in use stand those whose places are free

    // Before a trip of the way forwards: find where its state is kept.
    void trip() {
        leave_files(on_disk && save != -1);  // that the trip before was kept in
        save = -1;
        if (at % block == 0) save = place(keep(at == 0 ? NEVER : 0));
        ++at;
    }

    // After the last trip.
    void end() {
        open = at, left = open > 0, arrived = 0;
    }

    // Find the next part of the way backwards.
    void next() {
        restore = save = -1, into = into_unit = until = back = out_of = out_of_unit = 0;
        leave_files(on_disk);
        if (arrived) {
            save = place(push(at, 0));
        } else {
            at = items[count - 1].first;
            restore = place(items[count - 1].place);
        }
        const int64_t blocks = (open - at + block - 1) / block, free = places - count;
        arrived = blocks > 1 && free > 0;
        first = at;
        at += block * (arrived ? split_of_states(blocks, free + 1) : blocks - 1);
        taped = last = at;
        if (!arrived) {
            last = back = open, until = open = taped;
            if (blocks == 1) --count;
        }
        left = open > 0;
    }

  private:
    // As in a CheckpointSchedule.
    int64_t place(int64_t found) const { return on_disk && found >= 0 ? -2 - found : found; }

    int64_t push(int64_t trip, int64_t level) {
        items[count].first = trip, items[count].level = level;
        return items[count++].place;
    }

    // Keep a state, in the place of one that is not needed, or of the last one, whose level it passes; -1: nowhere.
    int64_t keep(int64_t level) {
        if (count == places) {
            const int64_t dropped = dispensable();
            if (dropped == 0) return -1;
            if (dropped == count - 1) level = items[dropped].level + 1;
            std::rotate(items + dropped, items + dropped + 1, items + count);
            --count;
        }
        return push(at, level);
    }

    // The last state that has a later one of a higher level; else the last one of all.
    int64_t dispensable() const {
        int64_t highest = 0;
        for (int64_t k = count - 1; k > 0; --k) {
            if (items[k].level < highest) return k;
            highest = items[k].level;
        }
        return count - 1;
    }
};

// `places`: states that there is room for, in memory or on the disk; `block`: trips with a tape at a time.
inline void start_online_schedule(int64_t places, int64_t block, bool on_disk, int64_t *numbers) {
    auto &schedule = *reinterpret_cast<OnlineSchedule *>(numbers);
    std::fill_n(numbers, 13, 0);
    schedule.places = places, schedule.block = block, schedule.on_disk = on_disk;
    schedule.at = schedule.open = schedule.count = schedule.arrived = 0;
    for (int64_t k = 0; k < places; ++k) schedule.items[k] = {0, 0, k};
}

}  // namespace sdgrad
