// SPDX-License-Identifier: Apache-2.0
/*
 * Who works for a rank that is away, above the ownership word (ownership_word.pml): the sets
 * `wanted` and `idle`, idle ranks that are woken and pass on what they cannot do, agents and their
 * beds, copies that are left behind, the end of agents. The names are those
 * of engine/{worker,door,wait,agent,copy_job}.cpp.
 *
 * One scenario, by -D; spin_test.py runs them all, and breaks them on purpose:
 *   ASKING     a rank computes, one is idle, one rings; all go away and stay away
 *   RETURNING  the same with less to do, and the first rank comes back once
 *   COPIES     the two sides of a long message; both go away and stay away
 *   THIRD      a receiver that is away, its sender that comes and goes, and an idle rank
 *   ENDING     ranks come back, or do not; those who do meet in MPI_Finalize and end their agents
 * FAR: no process reaches another's memory, so that only agents can do the work.
 *
 * The monitor looks when nothing can move. Nothing that was published for a rank that is away may
 * be open then, whoever sleeps.
 *
 * A step is one operation on shared words with what follows in private. Merged into one step are a
 * store and its bell, a bell and its system call, and neighbours such as prepare_park and the way
 * into `idle`: who comes between them is answered by a bell, which ownership_word.pml is about.
 *
 * Reach is one class or none: who reaches a rank's process reaches both ends of its copies. A child
 * by fork() is outside: it has no thread that acts for the rank, and its calls are refused
 * (test/faults/children_test.py).
 */
#include "worker.pml"

/* ---- The thread of a rank. */

inline come_back()
{
    atomic {
        if
        :: word[me].state == FREE -> word[me].state = OWNED; word[me].bell = false
        :: word[me].state == HELD -> word[me].parked = true; word[me].state == OWNED
        fi;
        inside[me]++;
        assert(inside[me] == 1)
    }
}

/* Whoever stays after all, as a bell was rung while it went. */
inline enter()
{
    come_back();
    d_step { take_work(me) };
    spread(me)
}

inline leave()
{
    d_step {
        inside[me]--;
        word[me].state = FREE;
        again = word[me].bell;
        word[me].bell = false
    }
}

/* The last sweep is for what the rank's own graphs have fired, and for the bells that come_back()
 * took with the word: it is left out where nothing is there, or the rank has waited since. */
inline go_away()
{
#ifndef NO_LAST_SWEEP
    if
    :: work[me] -> progress()
    :: else -> skip
    fi;
#endif
#ifdef COPIES
#ifndef NO_FENCE
    !(me == 1 && lingers);
#endif
    find_unattended();
    !(me == 1 && lingers); /* the exchange that leaves is a fence too */
#endif
    leave();
    do
    :: again ->
        enter();
#if defined(COPIES) && !defined(ASKS_ONCE)
        find_unattended();
#endif
        leave()
    :: else -> break
    od;
#ifdef COPIES
    if
    :: is_behind -> is_behind = false; wanted[me] = true; must = true
    :: else -> skip
    fi;
#endif
    if
    :: asked != NOBODY || must -> hand_over()
    :: else -> skip
    fi
}

inline get_up()
{
    if
    :: word[me].parked ->
#ifndef NO_PASSING_ON
        must = must || !idle[me];
#endif
        idle[me] = false;
        end_park(me)
    :: else -> skip
    fi
}

/* wait_slowly of a thread that sleeps as soon as it may. */
inline wait_for_message()
{
    do
    :: is_fresh -> is_fresh = false; atomic { !word[me].asleep; get_up() }
    :: !is_fresh && message[me] -> break
    :: else ->
        d_step {
            prepare_park(me);
            idle[me] = word[me].parked
        };
        progress();
#ifdef COPIES
        d_step {
            find_copy(me);
            if
            :: job -> copy_piece(); found = true; job = false
            :: else -> skip
            fi
        };
#endif
        if
        :: !found -> help()
        :: else -> skip
        fi;
        atomic {
            word[me].asleep = word[me].parked && !found && !helped && !message[me] &&
                              !word[me].bell;
            helped = false;
            !word[me].asleep
        };
        d_step { get_up() }
    od;
    found = false
}

proctype rank(byte me)
{
    byte asked = NOBODY;
    byte r = 0;
    byte sleeper = 0;
    bool must = false;
    bool must_now = false;
    bool again = false;
    bool found = false;
    bool helped = false;
    bool job = false;
    bool is_behind = false;
    bool take = false;
    bool wake = false;
    bool is_agent = false;
    bool is_fresh = word[me].asleep; /* as the scenario begins */
#if defined(ASKING) || defined(RETURNING)
    if
    :: me == 0 -> skip
    :: me == 1 -> wait_for_message()
    :: me == 2 ->
        d_step {
            work[0] = true;
            ring(0)
        };
        d_step {
            message[1] = true;
            notify_parked(1)
        };
        if
        :: true -> wait_for_message()
        :: true -> skip
        fi
    fi;
    go_away();
#ifdef RETURNING
    if
    :: me == 0 -> come_back(); go_away()
    :: else -> skip
    fi;
#endif
#endif
#ifdef COPIES
    if
    :: me == 0 -> skip
    :: me == 1 ->
        d_step {
            work[0] = true;
            ring(0)
        };
        if
        :: true ->
            waiting = true;
            wait_for_message();
            lingers = true
        :: true -> skip
        fi
    :: me == 2 -> wait_for_message() /* which never comes */
    fi;
    go_away();
#endif
#ifdef ENDING
    d_step {
        work[1 - me] = true;
        ring(1 - me)
    };
    go_away();
    if
    :: true -> goto stays_away
    :: true -> skip
    fi;
    enter(); /* a call that waits looks before it does */
#ifndef NO_BARRIER
    d_step {
        message[1 - me] = true;
        ring(1 - me)
    };
    wait_for_message();
#endif
    d_step {
        must_end[me] = true;
        notify_parked(BED(me))
    };
    has_ended[me];
#endif
    is_over[me] = true;
stays_away:
    skip
}

/* ---- The agent of a process. */

inline sweep_wanted()
{
    d_step {
        take = wanted[me];
        has_worked = take;
        wanted[me] = false
    };
    if
    :: take -> take = false; work_for(me)
    :: else -> skip
    fi;
    if
    :: asked != NOBODY || must -> help()
    :: else -> helped = false
    fi;
    helped = helped || has_worked;
    has_worked = false
}

#ifdef NO_LAST_LOOK
#define MAY_SLEEP true
#else
#define MAY_SLEEP !must_end[me]
#endif

proctype agent(byte me)
{
    byte asked = NOBODY;
    byte r = 0;
    bool must = false;
    bool must_now = false;
    bool again = false;
    bool found = false;
    bool helped = false;
    bool job = false;
    bool has_worked = false;
    bool take = false;
    bool wake = false;
    bool is_agent = true;
#ifdef ENDING
    word[BED(me)].state = OWNED; /* it starts late, perhaps */
#else
    atomic { !word[BED(me)].asleep; end_park(BED(me)) };
#endif
    do
    :: must_end[me] -> break
    :: else ->
#ifdef NO_SECOND_SWEEP
        sweep_wanted();
        d_step { prepare_park(BED(me)) };
#else
        d_step { prepare_park(BED(me)) };
        sweep_wanted();
#endif
        atomic {
            word[BED(me)].asleep = word[BED(me)].parked && !helped && !word[BED(me)].bell &&
                                   MAY_SLEEP;
            helped = false;
            !word[BED(me)].asleep
        };
        d_step { end_park(BED(me)) }
    od;
    word[BED(me)].state = FREE;
    has_ended[me] = true
}

#ifdef COPIES
/* What happens by itself. */
active proctype world()
{
    do
    :: d_step { lingers -> lingers = false; waiting = false }
    :: d_step { !message[1] -> message[1] = true; notify_parked(1) }
    od
}
#endif

/* A rank of a scenario with its agent, if that has anything to do. */
inline begin(rank_number, has_agent)
{
    word[rank_number].state = OWNED;
    inside[rank_number] = 1;
#ifndef ENDING
    word[BED(rank_number)].state = OWNED;
    lay_down(BED(rank_number));
#endif
    if
    :: has_agent -> run agent(rank_number)
    :: else -> skip
    fi
}

/* Whoever sleeps when the scenario begins spares steps: it has found nothing so far. */
inline lay_down(w)
{
    word[w].parked = true;
    word[w].asleep = true
}

inline run_ranks()
{
    if
    :: inside[0] == 1 -> run rank(0)
    :: else -> skip
    fi;
    if
    :: inside[1] == 1 -> run rank(1)
    :: else -> skip
    fi;
    if
    :: inside[2] == 1 -> run rank(2)
    :: else -> skip
    fi
}

init
{
    atomic {
#ifdef ASKING
        begin(0, true);
        begin(1, true);
        begin(2, true);
        idle[1] = true;
        lay_down(1);
#endif
#ifdef RETURNING
        begin(0, true);
        begin(1, false);
        begin(2, true);
        idle[1] = true;
        lay_down(1);
#endif
#ifdef COPIES
        begin(0, true);
        begin(1, true);
#ifdef THIRD
        begin(2, false);
        idle[2] = true;
        lay_down(2);
        inside[0] = 0;
        word[0].state = FREE;
        is_over[0] = true;
#endif
#endif
#ifdef ENDING
        begin(0, true);
        begin(1, true);
#endif
        run_ranks()
    }
}

/* Who has finalized is past caring. */
#define IS_SERVED(r) (!work[r] || (is_over[r] && word[r].state == OWNED))

active proctype monitor()
{
    timeout;
    assert(IS_SERVED(0) && IS_SERVED(1) && IS_SERVED(2));
#ifdef COPIES
    assert(pieces == 0 && is_over[0] && is_over[1])
#endif
#ifdef ENDING
    assert(word[0].state == FREE || word[1].state == FREE || is_over[0] && is_over[1])
#endif
#if defined(ASKING) || defined(RETURNING)
    assert(is_over[0] && is_over[1] && is_over[2])
#endif
}
