// SPDX-License-Identifier: MIT
/*
 * The handlers of commands, in plugin/control/commands/.
 *
 * row: the row of core/defs/commands.h, NB_CMD_<row>
 *
 * function: the handler, nb_cmd_<function>
 *
 * hold: LOCKED or FREE, see dispatch.h
 */
// clang-format off
/*      row                 function            hold */
HANDLER(HELLO,              hello,              LOCKED)
HANDLER(HELP,               help,               FREE)
HANDLER(CANCEL,             cancel,             FREE)
HANDLER(STATUS,             status,             FREE)
HANDLER(DOCTOR,             doctor,             LOCKED)
HANDLER(POLICY_LIST,        policy_list,        LOCKED)
HANDLER(POLICY_SHOW,        policy_show,        LOCKED)
HANDLER(POLICY_TIME,        policy_time,        LOCKED)
HANDLER(POLICY_LOAD,        policy_load,        FREE)
HANDLER(POLICY_EXPORT,      policy_export,      FREE)
HANDLER(POLICY_DUMP,        policy_dump,        FREE)
HANDLER(POLICY_USE,         policy_use,         FREE)
HANDLER(POLICY_ADD,         policy_add,         FREE)
HANDLER(POLICY_REMOVE,      policy_remove,      FREE)
HANDLER(POLICY_MOVE,        policy_move,        FREE)
HANDLER(POLICY_REPLACE,     policy_replace,     FREE)
HANDLER(POLICY_UNDO,        policy_undo,        FREE)
HANDLER(POLICY_HISTORY,     policy_history,     LOCKED)
HANDLER(POLICY_UNLOAD,      policy_unload,      FREE)
HANDLER(MAP_LIST,           map_list,           LOCKED)
HANDLER(MAP_SHOW,           map_show,           LOCKED)
HANDLER(MAP_DUMP,           map_dump,           FREE)
HANDLER(MAP_GET,            map_get,            FREE)
HANDLER(MAP_SET,            map_set,            FREE)
HANDLER(MAP_REMOVE,         map_remove,         FREE)
HANDLER(MAP_LOAD,           map_load,           FREE)
HANDLER(MAP_POP,            map_pop,            FREE)
HANDLER(MAP_ATTACH,         map_attach,         LOCKED)
HANDLER(MAP_DETACH,         map_detach,         LOCKED)
HANDLER(CHANGE_STATUS,      change_status,      FREE)
HANDLER(CHANGE_CHECK,       change_check,       FREE)
HANDLER(CHANGE_COMMIT,      change_commit,      FREE)
HANDLER(CHANGE_ABORT,       change_abort,       FREE)
HANDLER(CHANGE_EXPORT,      change_export,      FREE)
HANDLER(CHANGE_IMPORT,      change_import,      FREE)
HANDLER(CONTROLLER_STATUS,  controller_status,  FREE)
HANDLER(CONTROLLER_PAUSE,   controller_pause,   FREE)
HANDLER(CONTROLLER_RESUME,  controller_resume,  FREE)
HANDLER(CONTROLLER_EXPORT,  controller_export,  FREE)
HANDLER(CONTROLLER_IMPORT,  controller_import,  FREE)
HANDLER(COMM_LIST,          comm_list,          LOCKED)
HANDLER(COMM_SHOW,          comm_show,          LOCKED)
HANDLER(CHECK_AGREEMENT,    check_agreement,    FREE)
HANDLER(EXPLAIN,            explain,            LOCKED)
HANDLER(DECISION_TAIL,      decision_tail,      LOCKED)
HANDLER(ENV_LIST,           env_list,           LOCKED)
HANDLER(ENV_SET,            env_set,            LOCKED)
HANDLER(ENV_UNSET,          env_unset,          LOCKED)
HANDLER(ENV_REMOVE,         env_remove,         LOCKED)
HANDLER(NET,                net,                FREE)
HANDLER(GIN,                gin,                FREE)
HANDLER(VERBS,              verbs,              FREE)
HANDLER(TELEMETRY,          telemetry,          FREE)
HANDLER(STATS,              stats,              FREE)
HANDLER(SAMPLE_TAIL,        sample_tail,        FREE)
HANDLER(TRACE_START,        trace_start,        LOCKED)
HANDLER(TRACE_STOP,         trace_stop,         FREE)
HANDLER(TRACE_STATUS,       trace_status,       FREE)
HANDLER(TRACE_READ,         trace_read,         LOCKED)
HANDLER(TRACE_TAIL,         trace_tail,         FREE)
// clang-format on

#undef HANDLER
