# SPDX-License-Identifier: MIT
# Waits and time limits of jobs and agents use one clock and one sleep, nb_clock_system and
# nb_clock_sleep of plugin/runtime/clock.h, which tests replace; those of the shell nb_lua_mono and
# nb_lua_poll of lua/core/wait/clock.c. Refuses others. A file's age is compared with the wall clock
# (st_ctime, st_mtim).
/(^|[^a-z_])(clock_gettime|gettimeofday|timespec_get|nanosleep|clock_nanosleep|usleep|sleep)\(/ ||
/(^|[^a-z_])(nb_now_ns\(|poll\(NULL)/ ||
(/(^|[^a-z_])time\((NULL|0|&)/ && !/st_[cm]ti/) {
	print FILENAME ":" FNR ": not by the clock of its part: " $0
	bad = 1
}
END { exit bad }
