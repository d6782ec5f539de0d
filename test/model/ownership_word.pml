// SPDX-License-Identifier: Apache-2.0
/*
 * The ownership word with all its roles at once: an owner that waits for a message and sleeps, a
 * sender of that message whose store may linger in a store buffer, a ringer with work, a helper
 * that holds the word at any time. Every operation on the word is one step, as in the code.
 *
 * spin_test.py runs it: as it is it holds, with -DNO_FENCE and with -DCARELESS it does not.
 *
 * A lost wake-up or work left lying ends in the assertion of the monitor.
 */
#define FREE 0
#define OWNED 1
#define HELD 2

byte state = FREE;
bool bell = false;
bool parked = false;
bool asleep = false;    /* the owner, in its futex */

bool message = false;   /* as seen by all */
bool lingers = false;   /* the message is in the sender's store buffer */
bool received = false;
byte work = 0;          /* 1 published, 2 served */
byte inside = 0;        /* who acts for the rank: must never exceed one */
bool owner_left = false;

inline arrive() { inside++; assert(inside == 1) }

inline poll()
{
    if
    :: message -> received = true
    :: else -> skip
    fi;
    if
    :: work == 1 -> work = 2
    :: else -> skip
    fi
}

inline release_hold(rung)
{
    atomic {
        inside--;
        if
        :: parked -> state = OWNED; rung = false
        :: else -> state = FREE; rung = bell
        fi;
        woken = parked;
        parked = false;
        bell = false
    };
    if
    :: woken -> asleep = false
    :: else -> skip
    fi
}

active proctype memory()
{
end:
    do
    :: atomic { lingers -> lingers = false; message = true }
    od
}

active proctype sender()
{
    bool wake = false;
    lingers = true;
#ifndef NO_FENCE
    !lingers;
#endif
    if
    :: parked ->
#ifdef CARELESS
        /* rings whatever has become of the owner meanwhile */
        atomic { wake = !bell && state == OWNED && parked; bell = true };
#else
        atomic {
            wake = !bell && state == OWNED && parked;
            bell = bell || wake
        };
#endif
        if
        :: wake -> asleep = false
        :: else -> skip
        fi
    :: else -> skip
    fi
}

active proctype ringer()
{
    bool again = false;
    bool wake = false;
    bool woken = false;
    work = 1;
    atomic {
        again = !bell && state == FREE;
        wake = !bell && state == OWNED && parked;
        bell = true
    };
    if
    :: wake -> asleep = false
    :: else -> skip
    fi;
    do
    :: again ->
        atomic {
            if
            :: state == FREE -> state = HELD; bell = false; arrive()
            :: else -> break
            fi
        };
        poll();
        release_hold(again)
    :: else -> break
    od
}

active proctype helper()
{
    bool again = true;
    bool woken = false;
    do
    :: again ->
        atomic {
            if
            :: state == FREE -> state = HELD; bell = false; arrive()
            :: else -> break
            fi
        };
        poll();
        release_hold(again)
    :: else -> break
    od
}

active proctype owner()
{
    bool rung = false;
enter:
    atomic {
        if
        :: state == FREE -> state = OWNED; arrive(); goto in
        :: state == HELD -> parked = true; rung = bell
        fi
    };
    do
    :: atomic { state == OWNED -> arrive(); goto in }
    :: atomic { state == HELD && bell == rung -> asleep = true }; !asleep
    :: atomic { state == HELD && bell != rung -> rung = bell }
    od;
in:
    do
    :: poll();
        if
        :: received -> break
        :: else -> skip
        fi;
        atomic {
            if
            :: bell -> bell = false; goto in
            :: else -> parked = true
            fi
        };
        poll();
        if
        :: !received ->
            atomic {
                if
                :: bell -> skip
                :: else -> asleep = true
                fi
            };
            !asleep
        :: else -> skip
        fi;
        atomic { parked = false; bell = false }
    od;
    atomic { inside--; state = FREE; rung = bell; bell = false };
    if
    :: rung -> goto enter
    :: else -> skip
    fi;
    owner_left = true
}

active proctype monitor()
{
    timeout -> assert(owner_left && received && work == 2 && state == FREE)
}
