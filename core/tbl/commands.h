// SPDX-License-Identifier: MIT
/*
 * One row a command that a target serves over its control socket
 * (docs/protocol.md). The shell takes grammar, help and completion from the
 * target's answer to `help`, so an older shell serves a newer plugin.
 *
 * name    enumerator NB_CMD_<name>
 * words   one or two words, as typed
 * syntax  arguments: UPPER CASE required, [optional], name= an option
 * least most  positional arguments after the words
 * role    NB_ROLE_OBSERVE or NB_ROLE_CONTROL
 * help    one line
 */
/*  name            words              syntax                                     least most role    help */
CMD(HELLO,          "hello",           "VERSION",                                 1, 1, OBSERVE, "open a conversation: protocol version 1; says who the target is and the caller's role")
CMD(HELP,           "help",            "[WORD] [WORD]",                           0, 2, OBSERVE, "list the commands, or explain one")
CMD(CANCEL,         "cancel",          "ID",                                      1, 1, OBSERVE, "stop the stream of request ID")
CMD(STATUS,         "status",          "",                                        0, 0, OBSERVE, "the process: versions, policies, generation, communicators, counters")
CMD(DOCTOR,         "doctor",          "",                                        0, 0, OBSERVE, "look for settings and states that keep policies from working")
CMD(POLICY_LIST,    "policy list",     "",                                        0, 0, OBSERVE, "policies this process holds, and which are in use")
CMD(POLICY_SHOW,    "policy show",     "NAME",                                    1, 1, OBSERVE, "one policy: hooks, maps, engine, runs, answers changed and refused, mean time")
CMD(POLICY_TIME,    "policy time",     "on|off",                                  1, 1, CONTROL, "take the time of every 64th run of each policy, or no more")
CMD(POLICY_LOAD,    "policy load",     "NAME",                                    1, 1, CONTROL, "verify the image in the accompanying file descriptor and hold it; nothing changes yet")
CMD(POLICY_GET,     "policy get",      "NAME",                                    1, 1, OBSERVE, "the policy's image, as a file descriptor beside the reply")
CMD(POLICY_DUMP,    "policy dump",     "NAME [limit=N] [after=N]",                1, 1, OBSERVE, "disassembly with source lines")
CMD(POLICY_USE,     "policy use",      "NAME... [comm=ID,ID|others] [if_generation=N] [commit=no]", 1, 16, CONTROL, "decide with these policies, in this order, from a fence on; none: NCCL's own choice; comm=: those communicators alone, and common: as the others")
CMD(POLICY_ADD,     "policy add",      "NAME [before=NAME] [first=yes] [last=yes] [comm=ID,ID|others] [if_generation=N] [commit=no]", 1, 1, CONTROL, "decide with one policy more, behind those in use or where it is told, from a fence on")
CMD(POLICY_REMOVE,  "policy remove",   "NAME [comm=ID,ID|others] [if_generation=N] [commit=no]",    1, 1, CONTROL, "decide without that policy, from a fence on; the others stay")
CMD(POLICY_MOVE,    "policy move",     "NAME [before=NAME] [first=yes] [last=yes] [comm=ID,ID|others] [if_generation=N] [commit=no]", 1, 1, CONTROL, "another place for a policy in use, from a fence on")
CMD(POLICY_UNDO,    "policy undo",     "[to=N] [if_generation=N] [commit=no]",    0, 0, CONTROL, "go back to the generation before, or to generation N of policy history, at a fence")
CMD(POLICY_HISTORY, "policy history",  "",                                        0, 0, OBSERVE, "the last 16 generations: when, by whom, and which can be gone back to")
CMD(POLICY_DISCARD, "policy discard",  "NAME",                                    1, 1, CONTROL, "forget a policy that is not in use")
CMD(MAP_LIST,       "map list",        "",                                        0, 0, OBSERVE, "maps of the policies in use")
CMD(MAP_SHOW,       "map show",        "MAP",                                     1, 1, OBSERVE, "definition and fill of one map")
CMD(MAP_DUMP,       "map dump",        "MAP [limit=N] [after=KEY]",               1, 1, OBSERVE, "elements as hexadecimal bytes")
CMD(MAP_GET,        "map get",         "MAP KEY...",                              2, 64, OBSERVE, "one element, or several; KEY is hexadecimal bytes")
CMD(MAP_SET,        "map set",         "MAP KEY VALUE... [flags=any|new|old] [at=N] [if_generation=N] [commit=no]", 3, 64, CONTROL, "store elements (KEY VALUE pairs, hexadecimal); a coherent map changes at a fence; at=N: only these bytes of a local array's value")
CMD(MAP_DEL,        "map del",         "MAP KEY... [if_generation=N] [commit=no]",                  2, 64, CONTROL, "remove elements; in a coherent map all at one fence")
CMD(MAP_LOAD,       "map load",        "MAP [flags=any|new|old] [if_generation=N] [commit=no]",     1, 1, CONTROL, "store and remove the elements in the accompanying file descriptor; in a coherent map all at one fence")
CMD(MAP_POP,        "map pop",         "MAP [COUNT] [follow=yes]",                1, 2, CONTROL, "take out the next values of a queue, stack or ring buffer (1); follow=yes: and those to come")
CMD(CONTROLLER_STATUS, "controller status", "",                                   0, 0, OBSERVE, "who runs SEC(\"controller\") programs for this host, runs, changes, the last error")
CMD(CONTROLLER_PAUSE, "controller pause", "",                                     0, 0, CONTROL, "run no controllers in this job until controller resume")
CMD(CONTROLLER_RESUME, "controller resume", "",                                   0, 0, CONTROL, "run controllers again")
CMD(CHANGE_STATUS,  "change status",   "",                                        0, 0, OBSERVE, "the staged change, if any, and the fences of the last one")
CMD(CHANGE_COMMIT,  "change commit",   "DIGEST [if_generation=N]",                1, 1, CONTROL, "commit a change that every process of the job has staged")
CMD(CHANGE_ABORT,   "change abort",    "DIGEST",                                  1, 1, CONTROL, "drop a staged change")
CMD(COMM_LIST,      "comm list",       "[limit=N] [after=N]",                     0, 0, OBSERVE, "communicators: ranks, nodes, decisions, generation")
CMD(COMM_SHOW,      "comm show",       "COMM [slot=N]",                           1, 1, OBSERVE, "one communicator: decisions by collective, size and answer")
CMD(CHECK_AGREEMENT, "check agreement", "[comm=ID]",                         0, 0, OBSERVE, "do the ranks of each communicator on this host decide alike, and if not, which decision was the first")
CMD(EXPLAIN,        "explain",         "COLLECTIVE SIZE [comm=ID]",               2, 2, OBSERVE, "what would be decided for a collective and why")
CMD(DECISION_TAIL,  "decision tail",   "[COUNT] [follow=yes] [comm=ID]",          0, 1, OBSERVE, "the last decisions; follow=yes: and those to come")
CMD(ENV_LIST,       "env list",        "",                                        0, 0, OBSERVE, "variables that NCCL finds with another value than the environment's, and whether it has looked")
CMD(ENV_SET,        "env set",         "NAME VALUE",                              2, 2, CONTROL, "NCCL finds this value from its next look on; what it has read and keeps stays")
CMD(ENV_UNSET,      "env unset",       "NAME",                                    1, 1, CONTROL, "NCCL finds the variable not set")
CMD(ENV_FORGET,     "env forget",      "NAME",                                    1, 1, CONTROL, "NCCL finds what the environment has")
CMD(NET,            "net",             "[limit=N] [after=N]",                     0, 0, OBSERVE, "what the net plugin moves data with, its counters and its connections")
CMD(TELEMETRY,      "telemetry",       "on|off|clear [gpu=yes|no] [proxy=yes|no]", 1, 1, CONTROL, "measure every collective from now on, or no more; gpu=yes: with the kernels' own times, which costs each some latency")
CMD(STATS,          "stats",           "[comm=ID] [limit=N] [after=N]",           0, 0, OBSERVE, "what telemetry has measured: by collective, size, algorithm and protocol")
CMD(SAMPLE_TAIL,    "sample tail",     "[COUNT] [comm=ID]",                       0, 1, OBSERVE, "how long the last collectives of each communicator took")
CMD(TRACE_START,    "trace start",     "[events=LIST] [follow=yes]",              0, 0, CONTROL, "write events down in the process's ring from now on; follow=yes: and send them, for as long as the stream lasts")
CMD(TRACE_STOP,     "trace stop",      "",                                        0, 0, CONTROL, "write no more events down; what is in the ring stays")
CMD(TRACE_STATUS,   "trace status",    "",                                        0, 0, OBSERVE, "which events are written down, how many were, how many were left out")
CMD(TRACE_READ,     "trace read",      "[after=N]",                               0, 0, OBSERVE, "the events in the ring, oldest first")
CMD(TRACE_TAIL,     "trace tail",      "[COUNT] [follow=yes]",                    0, 1, OBSERVE, "what policies printed with bpf_trace_printk")

#undef CMD
