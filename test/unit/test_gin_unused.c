// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Why GIN is on and not used: each reason, and beside it the nearest situation
// in which another one holds.
#include "test/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "plugin/gin/unused.h"

static struct nb_gin_situation now;

/* NCCL of a version, nothing set, our net plugin in use. */
static void release(int version)
{
	now = (struct nb_gin_situation){ .nccl = version, .net_ours = true };
}

static void set(enum nb_gin_variable v, const char *value)
{
	now.variable[v] = value;
}

static void expect(const char *text, const char *hint)
{
	struct nb_gin_reason r;

	nb_gin_unused(&now, &r);
	ck_assert_msg(strstr(r.text, text) != NULL, "\"%s\" is not in \"%s\"",
		      text, r.text);
	ck_assert_msg(strstr(r.hint, hint) != NULL, "\"%s\" is not in \"%s\"",
		      hint, r.hint);
}

static const char *const waits = "has not asked for GIN yet";

START_TEST(the_first_release_with_plugins_is_2_28_7)
{
	release(22803);
	expect("NCCL 2.28.3 has no GIN plugins", "2.28.7");
	release(22807);
	expect("NCCL 2.28.7 has not asked for GIN yet", "first kernel");
}
END_TEST

START_TEST(until_2_29_3_the_net_plugin_must_be_ours)
{
	static const int old[] = { 22807, 22809, 22902, 22903 };

	for (int i = 0; i < 4; i++) {
		release(old[i]);
		/* these name no library for GIN */
		set(NB_GIN_VAR_GIN_PLUGIN, "none");
		set(NB_GIN_VAR_RMA_PLUGIN, "none");
		expect(waits, "");
		now.net_ours = false;
		expect("looks for GIN only in the net plugin's library, and "
		       "the "
		       "net plugin is not ours: NCCL_NET_PLUGIN does not name "
		       "ncclbpf",
		       "NCCL_NET_PLUGIN=ncclbpf");
		set(NB_GIN_VAR_NET_PLUGIN, "/opt/libncclbpf.so");
		expect("not ours: NCCL uses another net plugin", "");
		set(NB_GIN_VAR_NET, "Socket");
		expect("not ours: NCCL_NET=Socket", "");
		now.net_off = true;
		expect("not ours: NCCLBPF_NET=off", "");
	}
	release(22907);
	now.net_ours = false;
	expect("NCCL 2.29.7 has not found our GIN plugin: NCCL_GIN_PLUGIN is "
	       "not set",
	       "set NCCL_GIN_PLUGIN=ncclbpf");
}
END_TEST

START_TEST(from_2_29_7_on_a_variable_names_the_library)
{
	static const int newer[] = { 22907, 23003, 23004 };

	for (int i = 0; i < 3; i++) {
		release(newer[i]);
		set(NB_GIN_VAR_RMA_PLUGIN, "none"); /* of later releases */
		expect(waits, "");
		set(NB_GIN_VAR_GIN_PLUGIN, "none");
		expect("NCCL_GIN_PLUGIN=none keeps NCCL from GIN", "unset it");
		set(NB_GIN_VAR_GIN_PLUGIN, "other");
		expect("looks in NCCL_GIN_PLUGIN=other first", "=ncclbpf");
		now.net_ours = false;
		set(NB_GIN_VAR_GIN_PLUGIN, "ncclbpf");
		expect(waits, "");
		set(NB_GIN_VAR_GIN_PLUGIN, NULL);
		expect("has not found our GIN plugin", "NCCL_GIN_PLUGIN");
	}
}
END_TEST

START_TEST(from_2_30_7_on_it_is_the_variable_of_rma)
{
	static const int newest[] = { 23007, 23102 };

	for (int i = 0; i < 2; i++) {
		release(newest[i]);
		set(NB_GIN_VAR_GIN_PLUGIN, "none");
		expect(waits, "");
		set(NB_GIN_VAR_RMA_PLUGIN, "none");
		expect("NCCL_RMA_PLUGIN=none keeps NCCL from GIN", "unset it");
		set(NB_GIN_VAR_RMA_PLUGIN, "other");
		expect("looks in NCCL_RMA_PLUGIN=other first", "=ncclbpf");
		now.net_ours = false;
		set(NB_GIN_VAR_RMA_PLUGIN, NULL);
		expect("NCCL_RMA_PLUGIN is not set", "NCCL_RMA_PLUGIN=ncclbpf");
	}
}
END_TEST

START_TEST(variables_of_all_releases)
{
	static const enum nb_gin_variable off[] = { NB_GIN_VAR_GIN_ENABLE,
						    NB_GIN_VAR_WIN_ENABLE,
						    NB_GIN_VAR_CUMEM_ENABLE };
	static const char *const text[] = { "NCCL_GIN_ENABLE=0",
					    "NCCL_WIN_ENABLE=0",
					    "NCCL_CUMEM_ENABLE=0" };
	static const int all[] = { 0, 22809, 22907, 23004, 23102 };

	for (int v = 0; v < 5; v++)
		for (int i = 0; i < 3; i++) {
			release(all[v]);
			set(off[i], "0");
			expect(text[i], "unset it");
			set(off[i], "1");
			expect(waits, "");
		}
}
END_TEST

START_TEST(cross_nic_matters_in_two_releases)
{
	release(22809);
	set(NB_GIN_VAR_CROSS_NIC, "0");
	expect(waits, "");
	now.nccl = 22902;
	expect("NCCL_CROSS_NIC=0", "unset it");
	now.nccl = 22903;
	expect("NCCL_CROSS_NIC=0", "unset it");
	now.nccl = 22907; /* on a rail GIN works */
	expect(waits, "");
	now.nccl = 22903;
	set(NB_GIN_VAR_CROSS_NIC, "1");
	expect(waits, "");
}
END_TEST

START_TEST(the_type_of_our_transport_is_2)
{
	release(22809);
	set(NB_GIN_VAR_GIN_TYPE, "3");
	expect("NCCL_GIN_TYPE=3", "set it to 2");
	set(NB_GIN_VAR_GIN_TYPE, "2");
	expect(waits, "");
	set(NB_GIN_VAR_GIN_TYPE, "-1");
	expect(waits, "");
	set(NB_GIN_VAR_GIN_TYPE, "3");
	now.wrapping = true; /* it may have that type */
	expect(waits, "");
}
END_TEST

START_TEST(what_we_refused_comes_before_variables)
{
	release(22809);
	set(NB_GIN_VAR_WIN_ENABLE, "0");
	now.called = true;
	expect("does nothing in this process", "log");
	now.wrapping = true;
	expect("plugin of NCCLBPF_CHAIN_GIN is left out", "chain_gin");
	now.transport = true;
	expect("the wrapped GIN plugin has none", "");
	now.wrapping = false;
	expect("our TCP transport has found none", "NCCL_SOCKET_IFNAME");
}
END_TEST

START_TEST(a_release_that_is_not_known_may_be_any)
{
	release(0);
	expect(waits, "");
	now.net_ours = false;
	expect("NCCL's version is not known", "NCCL_NET_PLUGIN");
	set(NB_GIN_VAR_GIN_PLUGIN, "none");
	expect("NCCL_GIN_PLUGIN=none", "unset it");
}
END_TEST

START_TEST(values_are_kept_as_they_were)
{
	setenv("NCCL_GIN_TYPE", "3", 1);
	unsetenv("NCCL_NET");
	nb_gin_variables_read();
	setenv("NCCL_GIN_TYPE", "2", 1);
	ck_assert_str_eq(nb_gin_variable(NB_GIN_VAR_GIN_TYPE), "3");
	ck_assert_str_eq(nb_gin_variable(NB_GIN_VAR_NET), "");
}
END_TEST

// clang-format off
UNIT_MAIN("gin_unused",
	  tcase_add_test(tc, the_first_release_with_plugins_is_2_28_7);
	  tcase_add_test(tc, until_2_29_3_the_net_plugin_must_be_ours);
	  tcase_add_test(tc, from_2_29_7_on_a_variable_names_the_library);
	  tcase_add_test(tc, from_2_30_7_on_it_is_the_variable_of_rma);
	  tcase_add_test(tc, variables_of_all_releases);
	  tcase_add_test(tc, cross_nic_matters_in_two_releases);
	  tcase_add_test(tc, the_type_of_our_transport_is_2);
	  tcase_add_test(tc, what_we_refused_comes_before_variables);
	  tcase_add_test(tc, a_release_that_is_not_known_may_be_any);
	  tcase_add_test(tc, values_are_kept_as_they_were);)
