// SPDX-License-Identifier: MIT
/*
 * Each row is a command that a target serves over its control socket
 * (docs/protocol.md). The shell takes grammar, help and completion from the
 * target's answer to `help`, so an older shell serves a newer plugin.
 *
 * name:   enumerator NB_CMD_<name>;
 * words:  one or two words, as typed;
 * syntax: arguments: UPPER CASE is required, [X] optional, name= an option;
 * least, most: numbers of positional arguments after the words;
 * role:   NB_ROLE_OBSERVE or NB_ROLE_CONTROL;
 * help:   help text of one line.
 */
/* The columns are name, words, syntax, least, most, role and help. */
CMD(HELLO, "hello", "VERSION", 1, 1, OBSERVE,
	"Open a session with protocol version 1; the reply names the process and the caller's role")
CMD(HELP, "help", "[WORD] [WORD]", 0, 2, OBSERVE,
	"List the commands, or explain one")
CMD(CANCEL, "cancel", "ID", 1, 1, OBSERVE,
	"Stop the stream of request ID")
CMD(STATUS, "status", "", 0, 0, OBSERVE,
	"Show the process: versions, policies, generation, communicators, counters")
CMD(DOCTOR, "doctor", "", 0, 0, OBSERVE,
	"Look for settings and states that keep policies from working")
CMD(POLICY_LIST, "policy list", "", 0, 0, OBSERVE,
	"List the held policies, and mark the policies in use")
CMD(POLICY_SHOW, "policy show", "NAME", 1, 1, OBSERVE,
	"Show one policy: hooks, maps, engine, runs, changed and refused answers, mean time")
CMD(POLICY_TIME, "policy time", "on|off", 1, 1, CONTROL,
	"Enable or disable timing of every 64th policy run")
CMD(POLICY_LOAD, "policy load", "NAME", 1, 1, CONTROL,
	"Verify the image in the accompanying file descriptor and hold it; decisions do not change")
CMD(POLICY_EXPORT, "policy export", "NAME", 1, 1, OBSERVE,
	"Send the image of the policy as a file descriptor beside the reply")
CMD(POLICY_DUMP, "policy dump", "NAME [limit=N] [after=N]", 1, 1, OBSERVE,
	"Disassemble a policy, with source lines")
CMD(POLICY_USE, "policy use",
	"NAME... [comm=ID,ID|others] [if_generation=N] [commit=no]", 1, 16, CONTROL,
	"Use these policies, in this order, at a fence; the word none returns to NCCL's own choice")
CMD(POLICY_ADD, "policy add",
	"NAME [before=NAME] [position=first|last] [comm=ID,ID|others] "
	"[if_generation=N] [commit=no]", 1, 1, CONTROL,
	"Append a policy, or insert it at a position, at a fence")
CMD(POLICY_REMOVE, "policy remove",
	"NAME [comm=ID,ID|others] [if_generation=N] [commit=no]", 1, 1, CONTROL,
	"Stop using a policy at a fence; the others stay in use")
CMD(POLICY_MOVE, "policy move",
	"NAME [before=NAME] [position=first|last] [comm=ID,ID|others] "
	"[if_generation=N] [commit=no]", 1, 1, CONTROL,
	"Change the position of a policy in use, at a fence")
CMD(POLICY_REPLACE, "policy replace",
	"NAME NEW [comm=ID,ID|others] [if_generation=N] [commit=no]", 2, 2, CONTROL,
	"Let the policy NEW take the place of a policy in use, at a fence")
CMD(POLICY_UNDO, "policy undo", "[to=N] [if_generation=N] [commit=no]", 0, 0, CONTROL,
	"Return to the previous generation, or to generation N of policy history, at a fence")
CMD(POLICY_HISTORY, "policy history", "", 0, 0, OBSERVE,
	"List the last 16 generations with time and user, "
	"and whether policy undo can return to them")
CMD(POLICY_UNLOAD, "policy unload", "NAME [commit=no]", 1, 1, CONTROL,
	"Drop a policy that is not in use")
CMD(MAP_LIST, "map list", "", 0, 0, OBSERVE,
	"List the maps of the policies in use")
CMD(MAP_SHOW, "map show", "MAP", 1, 1, OBSERVE,
	"Show the definition and fill of one map")
CMD(MAP_DUMP, "map dump", "MAP [limit=N] [after=KEY]", 1, 1, OBSERVE,
	"List elements as hexadecimal bytes")
CMD(MAP_GET, "map get", "MAP KEY...", 2, 64, OBSERVE,
	"Show elements; KEY is hexadecimal bytes")
CMD(MAP_SET, "map set",
	"MAP KEY VALUE... [flags=any|new|old] [at=N] "
	"[if_generation=N] [commit=no]", 3, 64, CONTROL,
	"Store elements (KEY VALUE pairs, hexadecimal); a coherent map changes at a fence; "
	"at=N: write VALUE to byte N of a local array's element")
CMD(MAP_REMOVE, "map remove", "MAP KEY... [if_generation=N] [commit=no]", 2, 64, CONTROL,
	"Remove elements; a coherent map drops all of them at one fence")
CMD(MAP_LOAD, "map load", "MAP [flags=any|new|old] [if_generation=N] [commit=no]", 1, 1, CONTROL,
	"Store and remove the elements in the accompanying file descriptor; "
	"a coherent map changes at one fence")
CMD(MAP_POP, "map pop", "MAP [count=N] [follow=yes]", 1, 1, CONTROL,
	"Remove and show the next records of a ring buffer")
CMD(MAP_ATTACH, "map attach", "MAP", 1, 1, CONTROL,
	"Make the memory of the accompanying file descriptor the contents of all host maps "
	"of this name, also in policies loaded later")
CMD(MAP_DETACH, "map detach", "MAP", 1, 1, CONTROL,
	"Detach the memory from the host maps of this name, which then contain zeroes")
CMD(CONTROLLER_STATUS, "controller status", "", 0, 0, OBSERVE,
	"Show the process that runs the controllers of this host, "
	"their runs and changes, and the last error")
CMD(CONTROLLER_PAUSE, "controller pause", "", 0, 0, CONTROL,
	"Run no controllers in this job until controller resume")
CMD(CONTROLLER_RESUME, "controller resume", "", 0, 0, CONTROL,
	"Run controllers again")
CMD(CONTROLLER_EXPORT, "controller export", "", 0, 0, OBSERVE,
	"Send the change that the controllers propose "
	"to the fleet as a file descriptor beside the reply")
CMD(CONTROLLER_IMPORT, "controller import", "DIGEST [commit=no]", 1, 1, CONTROL,
	"Apply the change in the accompanying file descriptor "
	"to the coherent maps of generation DIGEST, which must be in use")
CMD(CHANGE_STATUS, "change status", "", 0, 0, OBSERVE,
	"Show the staged change, if any, and the fences of the last change")
CMD(CHANGE_CHECK, "change check", "DIGEST [if_generation=N] [fleet=N]", 1, 1, CONTROL,
	"Run every check of the command change commit, and commit nothing")
CMD(CHANGE_COMMIT, "change commit",
	"DIGEST [if_generation=N] [fleet=N] [maker=TEXT]", 1, 1, CONTROL,
	"Commit a change that every process of the job has staged")
CMD(CHANGE_ABORT, "change abort", "DIGEST", 1, 1, CONTROL,
	"Drop a staged change")
CMD(CHANGE_EXPORT, "change export", "", 0, 0, OBSERVE,
	"Send the generation of new communicators as a file descriptor beside the reply: "
	"digests and order of its policies, contents of changed coherent maps")
CMD(CHANGE_IMPORT, "change import", "[if_generation=N] [commit=no]", 0, 0, CONTROL,
	"Change to the generation in the accompanying file descriptor, "
	"made of policies that the process holds")
CMD(COMM_LIST, "comm list", "[limit=N] [after=N]", 0, 0, OBSERVE,
	"List communicators: ranks, nodes, decisions, generation")
CMD(COMM_SHOW, "comm show", "COMM [slot=N]", 1, 1, OBSERVE,
	"Show one communicator: decisions by collective, size and answer")
CMD(CHECK_AGREEMENT, "check agreement", "[comm=ID] [tracks=yes]", 0, 0, OBSERVE,
	"Compare the decisions of the ranks of each communicator on this host, "
	"and name the first decision that differs; "
	"tracks=yes: also send the decisions of communicators of several hosts, "
	"for the shell to compare")
CMD(EXPLAIN, "explain", "COLLECTIVE SIZE [comm=ID]", 2, 2, OBSERVE,
	"Show the decision for a collective and size, with its reasons")
CMD(DECISION_TAIL, "decision tail", "[count=N] [follow=yes] [comm=ID]", 0, 0, OBSERVE,
	"Show the last decisions")
CMD(ENV_LIST, "env list", "", 0, 0, OBSERVE,
	"List overridden variables, and whether NCCL has read them")
CMD(ENV_SET, "env set", "NAME VALUE", 2, 2, CONTROL,
	"Override a variable for future reads; values NCCL has cached do not change")
CMD(ENV_UNSET, "env unset", "NAME", 1, 1, CONTROL,
	"Hide a variable from future reads of NCCL")
CMD(ENV_REMOVE, "env remove", "NAME", 1, 1, CONTROL,
	"Remove an override")
CMD(NET, "net", "[limit=N] [after=N]", 0, 0, OBSERVE,
	"Show the transport of the net plugin, its counters and its connections")
CMD(GIN, "gin", "[contexts=yes] [comm=ID] [limit=N] [after=N]", 0, 0, OBSERVE,
	"Show the transport of the GIN plugin, its counters and its peers")
CMD(VERBS, "verbs", "[limit=N] [after=N]", 0, 0, OBSERVE,
	"Show the queue pairs of NCCL's own InfiniBand transport and their counters")
CMD(TELEMETRY, "telemetry", "on|off|clear [gpu=yes|no] [proxy=yes|no]", 1, 1, CONTROL,
	"Enable, disable or clear the measurement of every collective")
CMD(STATS, "stats", "[tags=yes] [comm=ID] [limit=N] [after=N]", 0, 0, OBSERVE,
	"Show the times that telemetry has measured, by collective, size, algorithm and protocol")
CMD(SAMPLE_TAIL, "sample tail", "[count=N] [comm=ID]", 0, 0, OBSERVE,
	"Show the execution times of the last collectives of each communicator")
CMD(TRACE_START, "trace start", "[events=LIST] [follow=yes]", 0, 0, CONTROL,
	"Start recording events into the ring of the process; "
	"follow=yes: send the events as a stream instead")
CMD(TRACE_STOP, "trace stop", "", 0, 0, CONTROL,
	"Stop recording events; the ring keeps its events")
CMD(TRACE_STATUS, "trace status", "", 0, 0, OBSERVE,
	"Show the recorded kinds of events, and the numbers of recorded and omitted events")
CMD(TRACE_READ, "trace read", "[after=N]", 0, 0, OBSERVE,
	"Read the events in the ring, oldest first")
CMD(TRACE_TAIL, "trace tail", "[count=N] [follow=yes]", 0, 0, OBSERVE,
	"Show what policies printed with bpf_trace_printk")

#undef CMD
