// SPDX-License-Identifier: MIT
// Makes the loaded NCCL call us instead of the CUDA runtime inside it.
//
// libnccl.so.2 contains a copy of the CUDA runtime, which would look for a
// driver. Its .symtab still lists the runtime's functions. Over the entry of
// each one we write a jump to our function of the same name, or to a stub that
// says "not supported"; so no code of that runtime ever runs. A program that
// uses libcudart.so needs none of this: preloaded symbols win; libcudart.so is
// redirected all the same, for the functions that we lack.
//
// Requires x86-64 and an unstripped NCCL; elsewhere one SKIP line, exit 77.
#include "test/fakes/vgpu/vgpu.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int vg_nccl_version;
const int *vg_row_to_id;
size_t vg_nrows;

enum { JUMP_SIZE = 14, PAGE = 4096, MAX_MODULES = 8, SKIP_STATUS = 77 };

void vg_skip(const char *what, const char *why)
{
	char line[4400];
	int n = snprintf(line, sizeof line, "vgpu: SKIP: %s%s\n", what, why);
	ssize_t done = write(STDERR_FILENO, line, (size_t)n);

	(void)done;
	_exit(SKIP_STATUS);
}

// ---- kernel's host stub -> name

struct kernel {
	const void *host;
	char *name;
};

static struct kernel *kernels;
static size_t nkernel, ckernel;
static pthread_mutex_t kernel_mu = PTHREAD_MUTEX_INITIALIZER;

void vg_kernel_add(const void *host, const char *symbol)
{
	char *end;
	size_t len = strlen(symbol);

	if (!strncmp(symbol, "_Z", 2)) { // _Z<length><name><parameters>
		size_t n = strtoul(symbol + 2, &end, 10);

		if (n > 0 && strlen(end) >= n) {
			symbol = end;
			len = n;
		}
	}
	pthread_mutex_lock(&kernel_mu);
	if (nkernel == ckernel) {
		ckernel = ckernel ? 2 * ckernel : 256;
		struct kernel *more = vg_calloc(ckernel, sizeof *more);
		if (nkernel)
			memcpy(more, kernels, nkernel * sizeof *more);
		free(kernels);
		kernels = more;
	}
	kernels[nkernel].host = host;
	kernels[nkernel++].name = strndup(symbol, len);
	pthread_mutex_unlock(&kernel_mu);
}

const char *vg_kernel_name(const void *host)
{
	const char *name = "unknown kernel";

	pthread_mutex_lock(&kernel_mu);
	for (size_t i = 0; i < nkernel; i++) {
		if (kernels[i].host == host) {
			name = kernels[i].name;
			break;
		}
	}
	pthread_mutex_unlock(&kernel_mu);
	return name;
}

// ---- our own functions by name

static void *real_dlopen(const char *file, int flags)
{
	static void *(*real)(const char *, int);

	if (!real) {
		void *p = dlsym(RTLD_NEXT, "dlopen");
		memcpy(&real, &p, sizeof real);
	}
	return real(file, flags);
}

static void *self(void)
{
	Dl_info info;

	if (!dladdr(&vg_nccl_version, &info))
		return NULL;
	return real_dlopen(info.dli_fname, RTLD_NOW);
}

static void *ours(void *me, const char *symbol)
{
	char name[128];
	size_t n = (size_t)snprintf(name, sizeof name, "%s", symbol);

	// Variants for the per-thread default stream do the same here.
	if (n > 5 && n < sizeof name &&
	    (!strcmp(name + n - 5, "_ptsz") || !strcmp(name + n - 5, "_ptds")))
		name[n - 5] = 0;
	void *f = dlsym(me, name);
	return f ? f : vg_stub(name);
}

// ---- one loaded file

enum module_kind { PROGRAM, NCCL, CUDART };

struct module {
	char path[PAGE];
	uintptr_t base;
	enum module_kind kind;
	char *file; // the file, mapped
	size_t size;
	const Elf64_Shdr *symtab, *dynsym;
	unsigned count; // functions redirected
	bool shared;	// it uses libcudart.so
};

struct symbols {
	const Elf64_Sym *at, *end;
	const char *names;
	size_t names_size;
};

static bool inside(const struct module *m, uint64_t off, uint64_t size)
{
	return off <= m->size && size <= m->size - off;
}

static const Elf64_Shdr *sections(const struct module *m, unsigned *n)
{
	const Elf64_Ehdr *eh = (const void *)m->file;

	*n = 0;
	if (!inside(m, 0, sizeof *eh) || eh->e_shoff == 0 ||
	    !inside(m, eh->e_shoff, eh->e_shnum * sizeof(Elf64_Shdr)))
		return NULL;
	*n = eh->e_shnum;
	return (const void *)(m->file + eh->e_shoff);
}

static bool module_map(struct module *m)
{
	struct stat st;
	unsigned n;
	int fd = open(m->path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return false;
	m->file = MAP_FAILED;
	if (!fstat(fd, &st) && st.st_size > 0) {
		m->size = (size_t)st.st_size;
		m->file = mmap(NULL, m->size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	close(fd);
	if (m->file == MAP_FAILED)
		return false;
	const Elf64_Shdr *sh = sections(m, &n);
	for (unsigned i = 0; i < n; i++) {
		if (sh[i].sh_type == SHT_SYMTAB)
			m->symtab = &sh[i];
		else if (sh[i].sh_type == SHT_DYNSYM)
			m->dynsym = &sh[i];
	}
	return true;
}

static struct symbols symbols_of(const struct module *m, const Elf64_Shdr *t)
{
	struct symbols s = { 0 };
	unsigned n;
	const Elf64_Shdr *sh = sections(m, &n);

	if (!t || t->sh_link >= n || !inside(m, t->sh_offset, t->sh_size))
		return s;
	const Elf64_Shdr *str = &sh[t->sh_link];
	if (!inside(m, str->sh_offset, str->sh_size))
		return s;
	s.at = (const void *)(m->file + t->sh_offset);
	s.end = s.at + t->sh_size / sizeof *s.at;
	s.names = m->file + str->sh_offset;
	s.names_size = str->sh_size;
	return s;
}

static const char *symbol_name(const struct symbols *s, const Elf64_Sym *q)
{
	return q->st_name < s->names_size ? s->names + q->st_name : "";
}

// The runtime's API; a dot marks a piece that the compiler split off.
static bool is_runtime(const struct symbols *s, const Elf64_Sym *q)
{
	const char *n = symbol_name(s, q);

	if (q->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(q->st_info) != STT_FUNC || strchr(n, '.'))
		return false;
	if (!strncmp(n, "__cuda", 6))
		return n[6] >= 'A' && n[6] <= 'Z' &&
		       strncmp(n, "__cudaRegisterLinkedBinary", 26) != 0;
	return !strncmp(n, "cuda", 4) && n[4] >= 'A' && n[4] <= 'Z';
}

static bool uses_libcudart(const struct module *m)
{
	struct symbols s = symbols_of(m, m->dynsym);

	for (const Elf64_Sym *q = s.at; q < s.end; q++) {
		if (q->st_shndx == SHN_UNDEF && !strcmp(symbol_name(&s, q), "cudaMalloc"))
			return true;
	}
	return false;
}

// What we must know about NCCL itself: its kernels, version, function table.
static void nccl_symbol(const struct module *m, const char *n, const Elf64_Sym *q)
{
	uintptr_t at = m->base + q->st_value;
	int type = ELF64_ST_TYPE(q->st_info);

	if (type == STT_FUNC && strstr(n, "ncclDevKernel_") && !strstr(n, "_device_stub_") &&
	    !strstr(n, ".cold")) {
		vg_kernel_add((void *)at, n);
	} else if (type == STT_FUNC && !strcmp(n, "ncclGetVersion")) {
		int (*version)(int *);
		memcpy(&version, &at, sizeof version);
		version(&vg_nccl_version);
	} else if (type == STT_OBJECT && !strcmp(n, "ncclDevFuncRowToId")) {
		vg_row_to_id = (const int *)at;
		vg_nrows = q->st_size / sizeof(int);
	}
}

static void protect(const struct module *m, uintptr_t lo, uintptr_t hi, int prot)
{
	lo &= ~(uintptr_t)(PAGE - 1);
	hi = (hi + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	if (mprotect((void *)lo, hi - lo, prot))
		vg_skip(m->path, ": its code pages cannot be made writable");
}

static void write_jump(uintptr_t at, void *to)
{
	unsigned char jump[JUMP_SIZE] = { 0xff, 0x25 }; // jmp *0(%rip); address

	memcpy(jump + 6, &to, sizeof to);
	memcpy((void *)at, jump, sizeof jump);
}

static void redirect_one(const struct module *m, const char *name, const Elf64_Sym *q, void *me)
{
	// Functions are 16-byte aligned, so 14 bytes fit even in a short one.
	if (q->st_size < JUMP_SIZE && q->st_value % 16) {
		vg_log("%s: %s is too small to redirect", m->path, name);
		return;
	}
	write_jump(m->base + q->st_value, ours(me, name));
}

static void redirect(struct module *m, const struct symbols *s)
{
	uintptr_t lo = UINTPTR_MAX, hi = 0;

	for (const Elf64_Sym *q = s->at; q < s->end; q++) {
		uintptr_t at = m->base + q->st_value;

		if (!is_runtime(s, q))
			continue;
		m->count++;
		lo = at < lo ? at : lo;
		hi = at + 16 > hi ? at + 16 : hi;
	}
	if (!m->count)
		return;
	void *me = self();
	protect(m, lo, hi, PROT_READ | PROT_WRITE);
	for (const Elf64_Sym *q = s->at; q < s->end; q++) {
		if (is_runtime(s, q))
			redirect_one(m, symbol_name(s, q), q, me);
	}
	protect(m, lo, hi, PROT_READ | PROT_EXEC);
}

static void module_patch(struct module *m)
{
	if (!module_map(m))
		return;
	m->shared = m->kind != CUDART && uses_libcudart(m);
	struct symbols s = symbols_of(m, m->kind == CUDART ? m->dynsym : m->symtab);
	if (!m->shared)
		redirect(m, &s);
	if (m->kind == NCCL && !m->shared && !m->count)
		vg_skip(m->path, " has no symbol table (.symtab) with a CUDA "
				 "runtime in it; virtual GPUs need an unstripped "
				 "NCCL, or one that uses libcudart.so");
	if (m->kind == NCCL) {
		for (const Elf64_Sym *q = s.at; q < s.end; q++) {
			if (q->st_shndx != SHN_UNDEF)
				nccl_symbol(m, symbol_name(&s, q), q);
		}
	}
	if (vg_env("VGPU_LOG", 0) && (m->count || m->shared))
		vg_log("%s: %u entry points redirected%s", m->path, m->count,
		       m->shared ? " (it uses libcudart.so)" : "");
	munmap(m->file, m->size);
}

// ---- all loaded files

struct seen {
	uintptr_t base;
	struct seen *next;
};

static struct seen *seen;

struct scan {
	struct module *modules;
	unsigned n, nobject;
};

static int on_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct scan *sc = arg;
	const char *path = info->dlpi_name;
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	enum module_kind kind = NCCL;
	bool program = sc->nobject++ == 0; // it always comes first

	(void)size;
	for (const struct seen *s = seen; s; s = s->next) {
		if (s->base == info->dlpi_addr)
			return 0;
	}
	if (program)
		kind = PROGRAM;
	else if (!strncmp(base, "libcudart.so", 12))
		kind = CUDART;
	else if (strncmp(base, "libnccl.so", 10) != 0)
		return 0;
	if (sc->n == MAX_MODULES)
		return 0;
	struct module *m = &sc->modules[sc->n++];
	snprintf(m->path, sizeof m->path, "%s", kind == PROGRAM ? "/proc/self/exe" : path);
	m->base = info->dlpi_addr;
	m->kind = kind;
	return 0;
}

static void scan(void)
{
	static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
	struct scan sc = { 0 };

	pthread_mutex_lock(&mu);
	sc.modules = vg_calloc(MAX_MODULES, sizeof *sc.modules);
	dl_iterate_phdr(on_object, &sc);
	for (unsigned i = 0; i < sc.n; i++) {
		struct seen *s = vg_calloc(1, sizeof *s);

		s->base = sc.modules[i].base;
		s->next = seen;
		seen = s;
		module_patch(&sc.modules[i]);
	}
	free(sc.modules);
	pthread_mutex_unlock(&mu);
}

static __attribute__((constructor)) void start(void)
{
#if !defined(__x86_64__)
	vg_skip("virtual GPUs", " run on x86-64 only (the jumps written over the "
				"CUDA runtime are its machine code)");
#endif
	vg_model_label();
	scan();
}

// NCCL may be opened later; the two driver libraries are in this one.
VG_API void *dlopen(const char *file, int flags)
{
	const char *slash = file ? strrchr(file, '/') : NULL;
	const char *base = slash ? slash + 1 : file;

	if (base && (!strncmp(base, "libcuda.so", 10) || !strncmp(base, "libnvidia-ml.so", 15)))
		return self();
	void *h = real_dlopen(file, flags);
	if (h)
		scan();
	return h;
}
