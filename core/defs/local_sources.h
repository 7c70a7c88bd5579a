// SPDX-License-Identifier: MIT
/*
 * Where rank-local data comes from, and what to do instead.
 *
 * name: enumerator NB_LOCAL_<name>;
 * text: the source, a template as in rules.h;
 * hint: advice, a template; "" for the hint of the rule.
 */
LOCAL(FIELD, "{place}, which is of this rank alone",
	"a program may record {place}, but its answer must not depend on it: "
	"ranks that answer differently hang the job; use fields that are equal on all ranks")
LOCAL(VARIABLE, "{at}variables are of this rank alone",
	"each rank has its own variables; store the data of a decision in a map tagged "
	"__coherent, or declare the variable const")
LOCAL(MAP, "{at}map {map} is not __coherent",
	"tag map {map} __coherent (programs then only read it, the shell changes it for all "
	"ranks at once), or decide by coherent context fields")
LOCAL(HOST_MAP, "{at}map {map} is of this host alone",
	"let a controller read the host map and write its result to a map tagged __coherent")
LOCAL(PERCPU_MAP, "{at}map {map} is not __coherent",
	"the values of a per-CPU map depend on the CPU; store the data of a decision in an "
	"array or hash tagged __coherent")
LOCAL(ELEMENTS, "map {map} is not __coherent: each rank has its own elements", "")
LOCAL(CPUS, "{helper} finds no element where the host has no such CPU",
	"hosts differ in their CPUs: a program may record whether the element exists, "
	"but its answer must not depend on that")
LOCAL(HELPER, "{helper} answers each rank differently",
	"a program may record the result of {helper}, but its answer must not depend on it; "
	"ctx->seq is equal on all ranks")
LOCAL(MEMORY, "memory of this rank alone", "")
LOCAL(ADDRESS, "an address, which differs between processes", "")
LOCAL(BRANCH, "decided by local data", "")

#undef LOCAL
