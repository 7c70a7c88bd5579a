// SPDX-License-Identifier: MIT
// tier: quick  load: cpu  limit: 600
// Facts about hosts: what files of sysfs tell, what NCCLBPF_PLATFORM sets, and that all ranks of a
// communicator see the same ones, whether they agree, differ, come late or share no segment.
#include "test/unit/tuner_job.h"

#include <assert.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "plugin/job/platform.h"

/* ---- files of sysfs ---- */

static uint32_t fact[NB_NFACTS];

/* Write file @path below dir, and the directories above it. */
static void put(const char *path, const char *text)
{
	char full[256];
	int fd;

	snprintf(full, sizeof(full), "%s/%s", dir, path);
	for (char *at = full + strlen(dir) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		mkdir(full, 0700);
		*at = '/';
	}
	fd = open(full, O_CREAT | O_TRUNC | O_WRONLY, 0600);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static void put_pci(int slot, const char *vendor, const char *class, const char *device)
{
	char path[128];

	snprintf(path, sizeof(path), "sys/bus/pci/devices/0000:%02x:00.0/vendor", slot);
	put(path, vendor);
	snprintf(path, sizeof(path), "sys/bus/pci/devices/0000:%02x:00.0/class", slot);
	put(path, class);
	snprintf(path, sizeof(path), "sys/bus/pci/devices/0000:%02x:00.0/device", slot);
	put(path, device);
}

static void put_port(const char *port, const char *state, const char *rate)
{
	char path[128];

	snprintf(path, sizeof(path), "sys/class/infiniband/%s/state", port);
	put(path, state);
	snprintf(path, sizeof(path), "sys/class/infiniband/%s/rate", port);
	put(path, rate);
}

static void put_node(int node, const char *properties)
{
	char path[128];

	snprintf(path, sizeof(path), "sys/class/kfd/kfd/topology/nodes/%d/properties", node);
	put(path, properties);
}

static void read_facts(void)
{
	int root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	ck_assert_int_ge(root, 0);
	nb_platform_read(root, fact);
	close(root);
}

static void expect(uint32_t arch, uint32_t gpus, uint32_t nics, uint32_t mbps)
{
	ck_assert_uint_eq(fact[NB_FACT_gpu_arch], arch);
	ck_assert_uint_eq(fact[NB_FACT_gpus_per_node], gpus);
	ck_assert_uint_eq(fact[NB_FACT_nics], nics);
	ck_assert_uint_eq(fact[NB_FACT_nic_mbps], mbps);
}

TEST(host_without_gpus_and_adapters_has_no_facts)
{
	memset(fact, 0xff, sizeof(fact));
	read_facts();
	expect(0, 0, 0, 0);
	memset(fact, 0xff, sizeof(fact));
	nb_platform_read(-1, fact);
	expect(0, 0, 0, 0);
}

TEST(nvidia_gpus_are_told_from_what_else_is_on_the_bus)
{
	put_pci(1, "0x8086\n", "0x030000\n", "0x2330\n");
	put_pci(2, "0x10de\n", "0x068000\n", "0x22a3\n"); /* NVSwitch */
	for (int i = 0; i < 8; i++)
		put_pci(0x10 + i, "0x10de\n", "0x030200\n", "0x2330\n");
	read_facts();
	expect(90, 8, 0, 0);
}

static const struct {
	const char *device;
	uint32_t arch;
} chips[] = {
	{ "0x15f9\n", 60 },  { "0x1db1\n", 70 },  { "0x1eb8\n", 75 },  { "0x2182\n", 75 },
	{ "0x20b0\n", 80 },  { "0x20f3\n", 80 },  { "0x2236\n", 86 },  { "0x25b6\n", 86 },
	{ "0x2321\n", 90 },  { "0x2342\n", 90 },  { "0x26b5\n", 89 },  { "0x27b8\n", 89 },
	{ "0x2901\n", 100 }, { "0x2941\n", 100 }, { "0x3182\n", 103 }, { "0x31c2\n", 103 },
	{ "0x2bb5\n", 120 }, { "0x2f04\n", 120 }, { "0x2e12\n", 121 }, { "0x22a3\n", 0 },
	{ "0x4000\n", 0 },   { "\n", 0 },	  { "gpu\n", 0 },      { "0xfffffffff2330\n", 0 },
};

TEST_EACH(nvidia_architectures_by_device_id, 0, sizeof(chips) / sizeof(*chips))
{
	put_pci(1, "0x10de\n", "0x030200\n", chips[_i].device);
	read_facts();
	expect(chips[_i].arch, 1, 0, 0);
}

TEST(gpus_of_one_host_that_differ_are_mixed)
{
	put_pci(1, "0x10de\n", "0x030200\n", "0x20b0\n");
	put_pci(2, "0x10de\n", "0x030000\n", "0x1eb8\n");
	put_pci(3, "0x10de\n", "0x030200\n", "0x20b0\n");
	read_facts();
	expect(NCCLBPF_MIXED, 3, 0, 0);
}

static const struct {
	const char *version;
	uint32_t arch, gpus;
} nodes[] = {
	{ "90402", 942, 1 },   { "90010", 910, 1 }, { "90500", 950, 1 }, { "100300", 1030, 1 },
	{ "120001", 1201, 1 }, { "0", 0, 0 },	    { "", 0, 0 },	 { "gfx", 0, 0 },
};

TEST_EACH(amd_architectures_by_version, 0, sizeof(nodes) / sizeof(*nodes))
{
	char text[128];

	snprintf(text, sizeof(text),
		 "cpu_cores_count 0\nsimd_count 1216\ngfx_target_version %s\nvendor_id 4098\n",
		 nodes[_i].version);
	put_node(0, "cpu_cores_count 96\nsimd_count 0\ngfx_target_version 0\n");
	put_node(1, text);
	put_node(2, "");
	read_facts();
	expect(nodes[_i].arch, nodes[_i].gpus, 0, 0);
}

TEST(fastest_active_ports_count)
{
	put_port("mlx5_0/ports/1", "4: ACTIVE\n", "400 Gb/sec (4X NDR)\n");
	put_port("mlx5_1/ports/1", "4: ACTIVE\n", "100 Gb/sec (4X EDR)\n");
	put_port("mlx5_2/ports/1", "1: DOWN\n", "800 Gb/sec (4X XDR)\n");
	put_port("mlx5_3/ports/1", "4: ACTIVE\n", "400 Gb/sec (4X NDR)\n");
	put_port("mlx5_3/ports/2", "4: ACTIVE\n", "400 Gb/sec (4X NDR)\n");
	put_port("mlx5_4/ports/1", "4: ACTIVE\n", "\n");
	put("sys/class/infiniband/mlx5_5/node_guid", "0\n");
	put("sys/class/infiniband/version", "1\n");
	read_facts();
	expect(0, 0, 3, 400000);
}

TEST(rate_with_a_fraction)
{
	put_port("ib0/ports/1", "4: ACTIVE\n", "2.5 Gb/sec (1X SDR)\n");
	read_facts();
	expect(0, 0, 1, 2500);
}

TEST(rate_that_is_no_rate)
{
	put_port("ib0/ports/1", "4: ACTIVE\n", "fast\n");
	put_port("ib1/ports/1", "", "400 Gb/sec\n");
	put_port("ib2/ports/1", "4: ACTIVE\n", "0 Gb/sec\n");
	read_facts();
	expect(0, 0, 0, 0);
	put_port("ib3/ports/1", "4: ACTIVE\n", "99999999999999999999 Gb/sec\n");
	read_facts();
	ck_assert_uint_lt(fact[NB_FACT_nic_mbps], 1000000000);
}

/* ---- NCCLBPF_PLATFORM ---- */

TEST(facts_of_the_environment_replace_those_that_it_names)
{
	memcpy(fact, (const uint32_t[]){ 1, 2, 3, 4 }, sizeof(fact));
	nb_platform_set("", fact);
	expect(1, 2, 3, 4);
	nb_platform_set("nics=8,gpu_arch=90", fact);
	expect(90, 2, 8, 4);
	nb_platform_set("gpus_per_node=0,nic_mbps=4294967294", fact);
	expect(90, 0, 8, 4294967294u);
}

static const char *const wrong[] = {
	"gpu_arch=h100",
	"gpu_arch=",
	"gpu_arch",
	"gpu_arch=-1",
	"gpu_arch= 90",
	"gpus=8",
	"gpu_arch =90",
	"=90",
	"nics=8x",
	"nics=4294967295",
	"nics=99999999999999999999",
	"nics=mixed",
	"nics=0x8",
	"ranks_per_node=8",
};

TEST_EACH(wrong_item_of_the_environment_is_named_and_ignored, 0, sizeof(wrong) / sizeof(*wrong))
{
	char text[128], named[128];

	begin_with(MADE_CHOOSE(1, 2));
	snprintf(text, sizeof(text), "gpus_per_node=8,%s,nic_mbps=100", wrong[_i]);
	setenv("NCCLBPF_PLATFORM", text, 1);
	nb_comm_free(rank_of(1, 1));
	snprintf(named, sizeof(named), "NCCLBPF_PLATFORM: \"%s\" is ignored; allowed are",
		 wrong[_i]);
	ck_assert_ptr_nonnull(strstr(lines, named));
	ck_assert_ptr_nonnull(strstr(lines, "gpu_arch=N, gpus_per_node=N, nics=N, nic_mbps=N"));
	memcpy(fact, nb_self.seg->fact, sizeof(fact));
	ck_assert_uint_eq(fact[NB_FACT_gpus_per_node], 8);
	ck_assert_uint_eq(fact[NB_FACT_nic_mbps], 100);
}

/* ---- ranks ---- */

#define SAME "gpu_arch=40,gpus_per_node=8,nics=4,nic_mbps=200000"

static_assert(offsetof(struct ncclbpf_tuner, gpu_arch) == 84 &&
		      offsetof(struct ncclbpf_tuner, nics) == 92,
	      "fields that the policies of this test read");
/* Ring and Simple, with as many channels as the field at @off says. */
#define CHANNELS_OF(off)                                                                   \
	"ldxw %r2, [%r1+" #off "]\nstw [%r1+68], 1\nstw [%r1+72], 2\nstxw [%r1+76], %r2\n" \
	"mov %r0, 0\nexit\n"

static struct nb_comm *rank_on(uint64_t id, size_t ranks, size_t on)
{
	void *ctx = NULL;
	struct nb_nvl_domain_info nvl = { 1, 8, 8 };

	ck_assert_int_eq(ncclTunerPlugin_v5.init(&ctx, id, ranks, on, logger, &nvl, NULL), 0);
	return ctx;
}

static void sees(const struct nb_comm *c, uint32_t arch, uint32_t gpus, uint32_t nics,
		 uint32_t mbps)
{
	for (int i = 0; i < 2; i++) {
		const struct ncclbpf_tuner *t = i ? &c->ctx : &c->base;

		ck_assert_uint_eq(t->gpu_arch, arch);
		ck_assert_uint_eq(t->gpus_per_node, gpus);
		ck_assert_uint_eq(t->nics, nics);
		ck_assert_uint_eq(t->nic_mbps, mbps);
	}
}

TEST(ranks_that_agree_see_their_facts)
{
	struct nb_comm *c[2];

	begin_with(CHANNELS_OF(84));
	setenv("NCCLBPF_PLATFORM", SAME, 1);
	for (int i = 0; i < 2; i++)
		c[i] = rank_of(1, 2);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(ask(c[i], 4, 1024).channels, 40);
		sees(c[i], 40, 8, 4, 200000);
		ck_assert_uint_eq(c[i]->ctx.ranks_per_node, 2);
	}
	/* a change and the end of a rank change no fact */
	hold("nics", CHANNELS_OF(92), NULL, 0);
	use("nics");
	ck_assert_int_eq(last.comm[0].state, NB_CHANGE_COMMITTED);
	for (uint64_t k = 0; k <= last.comm[0].fence; k++)
		for (int i = 0; i < 2; i++)
			ask(c[i], 4, 1024);
	nb_comm_free(c[0]);
	ck_assert_int_eq(ask(c[1], 4, 1024).channels, 4);
	sees(c[1], 40, 8, 4, 200000);
	nb_comm_free(c[1]);
}

TEST(ranks_per_node_is_exact_or_mixed)
{
	static const uint32_t shape[][3] = {
		{ 8, 2, 4 }, { 8, 3, NCCLBPF_MIXED }, { 1, 1, 1 },
		{ 2, 0, 0 }, { 3, 4, NCCLBPF_MIXED },
	};

	for (size_t i = 0; i < sizeof(shape) / sizeof(*shape); i++) {
		struct nb_comm *c = rank_on(i, shape[i][0], shape[i][1]);

		ck_assert_uint_eq(c->ctx.ranks_per_node, shape[i][2]);
		nb_comm_free(c);
	}
}

/* Another process of the job: joins, tells @here, waits for @go, and decides. */
struct other {
	pid_t pid;
	int here[2], go[2];
};

/* Start it; @check: what it must see. It ends with 0 if it does. */
static void start(struct other *o, const char *platform, size_t on, const char *job,
		  void (*check)(const struct nb_comm *))
{
	ck_assert_int_eq(pipe(o->here), 0);
	ck_assert_int_eq(pipe(o->go), 0);
	o->pid = fork();
	if (!o->pid) {
		struct nb_comm *c;
		char ch;

		setenv("NCCLBPF_PLATFORM", platform, 1);
		setenv("NCCLBPF_JOB", job, 1);
		begin_with(CHANNELS_OF(84));
		c = rank_on(5, 2, on);
		if (write(o->here[1], "x", 1) != 1 || read(o->go[0], &ch, 1) != 1)
			_exit(1);
		ask(c, 4, 1024);
		check(c);
		_exit(0);
	}
}

static void joined(struct other *o)
{
	char ch;

	ck_assert_int_eq(read(o->here[0], &ch, 1), 1);
}

static void let_go(struct other *o)
{
	ck_assert_int_eq(write(o->go[1], "x", 1), 1);
}

static void ended(struct other *o)
{
	int status;

	ck_assert_int_eq(waitpid(o->pid, &status, 0), o->pid);
	ck_assert_int_eq(status, 0);
}

static void two_differ(const struct nb_comm *c)
{
	sees(c, NCCLBPF_MIXED, 8, NCCLBPF_MIXED, 200000);
}

static void unknown(const struct nb_comm *c)
{
	sees(c, 0, 0, 0, 0);
}

/* 1: on one node; 2: on two pretended ones, whose ranks share a segment. */
TEST_EACH(what_differs_is_mixed_on_all_ranks, 1, 3)
{
	struct other o[2];

	start(&o[0], SAME, (size_t)_i, "t", two_differ);
	joined(&o[0]);
	start(&o[1], "gpu_arch=90,gpus_per_node=8,nics=5,nic_mbps=200000", (size_t)_i, "t",
	      two_differ);
	joined(&o[1]);
	for (int i = 0; i < 2; i++)
		let_go(&o[i]);
	for (int i = 0; i < 2; i++)
		ended(&o[i]);
}

/* The two are on hosts of their own, or one of them cannot share the segment. */
TEST(ranks_that_share_no_segment_know_no_facts)
{
	struct other o[2];

	for (int i = 0; i < 2; i++) {
		start(&o[i], SAME, 2, i ? "elsewhere" : "t", unknown);
		joined(&o[i]);
	}
	for (int i = 0; i < 2; i++)
		let_go(&o[i]);
	for (int i = 0; i < 2; i++)
		ended(&o[i]);
}

static void on_one_node(const struct nb_comm *c)
{
	unknown(c);
	ck_assert(c->mismatch);
}

/*
 * NCCL creates all ranks before one decides. If it did not, the first decision would find that a
 * rank is missing, and the late rank must see no fact either.
 */
TEST_EACH(late_rank_sees_what_its_peers_see, 1, 3)
{
	void (*check)(const struct nb_comm *) = _i == 1 ? on_one_node : unknown;
	struct other o[2];

	start(&o[0], SAME, (size_t)_i, "t", check);
	joined(&o[0]);
	let_go(&o[0]);
	ended(&o[0]);
	start(&o[1], SAME, (size_t)_i, "t", check);
	joined(&o[1]);
	let_go(&o[1]);
	ended(&o[1]);
}

TEST(rank_that_died_before_the_first_decision_has_told_its_facts)
{
	struct other o[2];

	start(&o[0], "gpu_arch=90,gpus_per_node=8,nics=5,nic_mbps=200000", 1, "t", unknown);
	joined(&o[0]);
	start(&o[1], SAME, 1, "t", two_differ);
	joined(&o[1]);
	kill(o[0].pid, SIGKILL);
	ck_assert_int_eq(waitpid(o[0].pid, NULL, 0), o[0].pid);
	let_go(&o[1]);
	ended(&o[1]);
}

TEST(ranks_that_nobody_compares_know_no_facts)
{
	struct nb_comm_init by_profiler = {
		.comm_id = 7, .has_id = NB_ID_PROFILER, .ranks = 1, .nodes = 1, .abi = 4
	};
	struct nb_comm *c;
	void *ctx = NULL;

	begin_with(CHANNELS_OF(84));
	setenv("NCCLBPF_PLATFORM", SAME, 1);
	ck_assert_int_eq(ncclTunerPlugin_v4.init(1, 1, logger, &ctx), 0);
	ck_assert_int_eq(ask(ctx, 4, 1024).channels, 0);
	unknown(ctx);
	ck_assert_uint_eq(((struct nb_comm *)ctx)->ctx.ranks_per_node, 1);
	nb_comm_free(ctx);
	c = nb_comm_new(&by_profiler);
	ck_assert_int_eq(ask(c, 4, 1024).channels, 0);
	unknown(c);
	nb_comm_free(c);
}

UNIT_MAIN_WITH("platform", tcase_add_checked_fixture(tc, set_up, tear_down);)
