// SPDX-License-Identifier: Apache-2.0
/* What hand_over.pml is made of: words, sets, and engine/worker.cpp. */
#define FREE 0
#define OWNED 1
#define HELD 2

#define NOBODY 3
#define BED(process) (3 + (process)) /* process p has rank p alone */

#ifdef FAR
#define REACHED(r) ((r) == me)
#else
#define REACHED(r) true
#endif

#ifdef THIRD
#define COPIES
#endif

typedef Word {
    byte state;
    bool bell;
    bool parked;
    bool asleep /* its owner, in the futex */
}

Word word[6];
byte inside[3]; /* who acts for the rank: must never exceed one */
bool wanted[3];
bool idle[3];
bool work[3];     /* published, of no use until somebody works for the rank */
bool message[3];  /* what the rank waits for has come */
bool must_end[3];  /* the agent */
bool has_ended[3]; /* likewise */
bool is_over[3];  /* the rank has done all that it does in this scenario */

/* ---- Words. These are parts of steps. */

inline notify_parked(w)
{
    if
    :: word[w].state == OWNED && word[w].parked && !word[w].bell ->
        word[w].bell = true;
        word[w].asleep = false
    :: else -> skip
    fi
}

inline nudge(w)
{
    if
    :: word[w].state == OWNED && !word[w].bell ->
        word[w].bell = true;
        word[w].asleep = false
    :: else -> skip
    fi
}

inline prepare_park(w)
{
    word[w].parked = !word[w].bell;
    word[w].bell = false
}

inline end_park(w)
{
    word[w].parked = false;
    word[w].bell = false
}

/* ---- A worker: the thread of rank `me`, or the agent of process `me`. Its own are `asked` (room
 * for one, so that it overflows), `must` hand over, and what it has just seen: `found` an event,
 * `helped` somebody, `again` a bell, `job` a copy to take part in. */

inline remember(r)
{
    if
    :: asked == NOBODY || asked == r -> asked = r
    :: else -> wanted[r] = true; must = true
    fi
}

inline ring(r)
{
    if
    :: !word[r].bell && word[r].state == FREE -> remember(r)
    :: !word[r].bell && word[r].state == OWNED -> word[r].asleep = false
    :: else -> skip
    fi;
    word[r].bell = true
}

#ifdef COPIES
byte pieces = 2; /* that nobody has taken */
bool in_copies;  /* the job hangs in rank 0, the receiver */
bool in_invited; /* in rank 1, the sender */
bool invitation; /* pushed for rank 1 */
bool waiting;    /* rank 1's waiting_threads, as seen by all */
bool lingers;    /* that it has stopped waiting is in its store buffer */

/* Whoever works for rank 0 matches the offer, makes the job and invites rank 1. */
inline take_work(r)
{
    found = work[r];
    work[r] = false;
    if
    :: found && r == 0 ->
        in_copies = true;
        invitation = true;
        notify_parked(1)
    :: else -> skip
    fi
}

inline take_invitations(r)
{
    in_invited = in_invited || (r == 1 && invitation);
    invitation = invitation && r != 1
}

/* Rank 2 and its agent are at neither end: they leave copies to a sender that waits. */
inline find_copy(r)
{
    take_invitations(r);
    job = pieces > 0 && ((r == 0 && in_copies) || (r == 1 && in_invited)) && (me != 2 || !waiting)
}

inline copy_piece()
{
    if
    :: pieces > 0 -> pieces--
    :: else -> skip
    fi
}

inline find_unattended()
{
    d_step {
        take_invitations(me);
        is_behind = pieces > 0 && ((me == 0 && in_copies && !waiting) || (me == 1 && in_invited))
    }
}
#else
inline take_work(r)
{
    found = work[r];
    work[r] = false
}

inline find_copy(r) { skip }
inline copy_piece() { skip }
#endif

#ifdef ENDING
bool is_answered;
#endif

/* In ENDING the first work of rank 1 leads to work of rank 0, which comes back or stays away.
 * In ASKING the work of rank 0 ends an op that rank 2 waits for, in a graph of rank 2 that goes on,
 * and is a step for rank 1. The next step of its own rank a worker finds by itself. */
inline spread(r)
{
#if defined(ASKING) || defined(RETURNING)
    if
    :: found && r == 0 ->
        d_step {
            message[2] = true;
            nudge(2)
        };
        d_step {
            work[2] = true;
            if
            :: me == 2 && !is_agent -> skip
            :: else -> ring(2)
            fi
        };
#ifdef ASKING
        d_step {
            work[1] = true;
            ring(1)
        };
#endif
        skip
    :: else -> skip
    fi
#elif defined(ENDING)
    d_step {
        if
        :: found && r == 1 && !is_answered -> is_answered = true; work[0] = true; ring(0)
        :: else -> skip
        fi
    }
#else
    skip
#endif
}

inline progress()
{
    d_step { take_work(me) };
    spread(me)
}

inline work_for(r)
{
    again = true;
    do
    :: again ->
        atomic {
            if
            :: word[r].state == FREE ->
                word[r].state = HELD;
                word[r].bell = false;
                inside[r]++;
                assert(inside[r] == 1);
                take_work(r)
            :: else -> break
            fi
        };
        spread(r);
        d_step {
            find_copy(r);
            inside[r]--;
            again = word[r].bell && !word[r].parked;
            word[r].state = (word[r].parked -> OWNED : FREE);
            word[r].parked = false;
            word[r].bell = false
        };
        if
        :: job ->
            d_step {
                copy_piece();
#ifndef ONE_PIECE
                remember(r);
#endif
                job = false
            };
            break
        :: else -> skip
        fi
    :: else -> break
    od;
    again = false
}

inline find_wanted()
{
    if
    :: r == 0 && wanted[0] -> r = 0
    :: !(r == 0 && wanted[0]) && r <= 1 && wanted[1] -> r = 1
    :: !(r == 0 && wanted[0]) && !(r <= 1 && wanted[1]) && r <= 2 && wanted[2] -> r = 2
    :: else -> r = NOBODY
    fi
}

inline help()
{
    helped = false;
    if
    :: asked != NOBODY ->
        r = asked;
        asked = NOBODY;
        if
        :: REACHED(r) -> work_for(r); helped = true
        :: else ->
            wanted[r] = true;
            d_step { notify_parked(BED(r)) }
        fi
    :: else -> skip
    fi;
    r = 0;
    must_now = must;
    must = false;
    do
    :: true ->
        d_step {
            find_wanted();
            take = r != NOBODY && REACHED(r);
            wake = r != NOBODY && !REACHED(r) && must_now;
            if
            :: take -> wanted[r] = false
            :: else -> skip
            fi
        };
        if
        :: take -> take = false; work_for(r); helped = true; r++
        :: wake -> wake = false; d_step { notify_parked(BED(r)) }; r++
        :: !take && !wake && r != NOBODY -> r++
        :: !take && !wake && r == NOBODY -> break
        fi
    od;
    r = 0;
    must_now = false
}

/* Who takes a sleeper out of the set wakes it: it looks at those who are wanted. */
inline wake_for(r)
{
    d_step {
        if
        :: idle[0] -> sleeper = 0
        :: !idle[0] && idle[1] -> sleeper = 1
        :: !idle[0] && !idle[1] && idle[2] -> sleeper = 2
        :: else -> sleeper = NOBODY
        fi;
        if
        :: sleeper != NOBODY -> idle[sleeper] = false
        :: else -> skip
        fi
    };
    d_step {
        if
        :: sleeper == NOBODY -> notify_parked(BED(r))
#ifndef NO_NUDGE
        :: sleeper != NOBODY -> nudge(sleeper)
#endif
        :: else -> skip
        fi;
        sleeper = 0
    }
}

inline publish_asked()
{
    d_step {
        if
        :: asked != NOBODY -> wanted[asked] = true
        :: else -> skip
        fi;
        asked = NOBODY
    }
}

inline hand_over()
{
#ifdef WAKE_FIRST
    if
    :: asked != NOBODY -> wake_for(asked)
    :: else -> skip
    fi;
    publish_asked();
#else
    publish_asked();
    must = false;
    do
    :: true ->
        d_step { find_wanted() };
        if
        :: r != NOBODY -> wake_for(r); r++
        :: else -> break
        fi
    od;
#endif
    r = 0
}
