// SPDX-License-Identifier: MIT
// Makes the loaded NCCL call us instead of the CUDA runtime inside it.
//
// libnccl.so.2 contains a copy of the CUDA runtime, which would look for a
// driver. Its .symtab lists the runtime's functions, or find.c finds them where
// the library was stripped. Over the entry of each one we write a jump to our
// function of the same name, or to a stub that says "not supported"; so no code
// of that runtime ever runs. A program that uses libcudart.so needs none of
// this: preloaded symbols win; libcudart.so is redirected all the same, for the
// functions that we lack.
//
// Requires x86-64; elsewhere one SKIP line, exit 77.
#include "test/fakes/vgpu/vgpu.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test/fakes/vgpu/find.h"

int vg_nccl_version;
bool vg_rccl;
const int *vg_row_to_id;
size_t vg_nrows;

enum { JUMP_SIZE = 14, PAGE = 4096, MAX_MODULES = 8 };

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
	struct vg_image image;
	unsigned count; // functions redirected
	bool shared;	// it uses libcudart.so
};

// The runtime's API; a dot marks a piece that the compiler split off.
static bool is_runtime(const struct vg_symbols *s, const Elf64_Sym *q)
{
	const char *n = vg_symbol_name(s, q);

	if (q->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(q->st_info) != STT_FUNC || strchr(n, '.'))
		return false;
	if (!strncmp(n, "__cuda", 6))
		return n[6] >= 'A' && n[6] <= 'Z' &&
		       strncmp(n, "__cudaRegisterLinkedBinary", 26) != 0;
	return !strncmp(n, "cuda", 4) && n[4] >= 'A' && n[4] <= 'Z';
}

static bool uses_libcudart(const struct module *m)
{
	struct vg_symbols s = vg_image_symbols(&m->image, SHT_DYNSYM);

	for (const Elf64_Sym *q = s.at; q < s.end; q++) {
		if (q->st_shndx == SHN_UNDEF && !strcmp(vg_symbol_name(&s, q), "cudaMalloc"))
			return true;
	}
	return false;
}

// What we must know about NCCL itself: its kernels and its function table.
static void nccl_symbol(const struct module *m, const char *n, const Elf64_Sym *q)
{
	uintptr_t at = m->base + q->st_value;
	int type = ELF64_ST_TYPE(q->st_info);

	if (type == STT_FUNC && strstr(n, "DevKernel_") && !strstr(n, "_device_stub_") &&
	    !strstr(n, ".cold")) {
		vg_kernel_add((void *)at, n);
	} else if (type == STT_OBJECT && !strcmp(n, "ncclDevFuncRowToId")) {
		vg_row_to_id = (const int *)at;
		vg_nrows = q->st_size / sizeof(int);
	}
}

static void nccl_version(const struct module *m)
{
	struct vg_symbols s = vg_image_symbols(&m->image, SHT_DYNSYM);
	int (*version)(int *);

	for (const Elf64_Sym *q = s.at; q < s.end; q++) {
		uintptr_t at = m->base + q->st_value;

		if (q->st_shndx == SHN_UNDEF ||
		    strcmp(vg_symbol_name(&s, q), "ncclGetVersion") != 0)
			continue;
		memcpy(&version, &at, sizeof version);
		version(&vg_nccl_version);
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

static void redirect(struct module *m, const struct vg_symbols *s)
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
			redirect_one(m, vg_symbol_name(s, q), q, me);
	}
	protect(m, lo, hi, PROT_READ | PROT_EXEC);
}

// A library without symbols: the same by what find.c finds. Functions that are
// not aligned have no room for a jump; the compiler aligns all to 16 bytes.
static void redirect_found(struct module *m)
{
	uintptr_t lo = UINTPTR_MAX, hi = 0;
	struct vg_found f;

	vg_find(&f, &m->image);
	for (size_t i = 0; i < f.nfunction; i++) {
		lo = f.functions[i].at < lo ? f.functions[i].at : lo;
		hi = f.functions[i].at + 16 > hi ? f.functions[i].at + 16 : hi;
	}
	if (f.nfunction) {
		void *me = self();

		protect(m, lo, hi, PROT_READ | PROT_WRITE);
		for (size_t i = 0; i < f.nfunction; i++) {
			if (f.functions[i].at % 16)
				continue;
			write_jump(f.functions[i].at, ours(me, f.functions[i].name));
			m->count++;
		}
		protect(m, lo, hi, PROT_READ | PROT_EXEC);
	}
	for (size_t i = 0; i < f.nkernel; i++)
		vg_kernel_add((const void *)f.kernels[i].at, f.kernels[i].name);
	vg_row_to_id = f.rows;
	vg_nrows = f.nrows;
	vg_found_free(&f);
}

static void module_patch(struct module *m)
{
	if (!vg_image_open(&m->image, m->path, m->base))
		return;
	m->shared = m->kind != CUDART && uses_libcudart(m);
	struct vg_symbols s =
		vg_image_symbols(&m->image, m->kind == CUDART ? SHT_DYNSYM : SHT_SYMTAB);
	if (!m->shared)
		redirect(m, &s);
	if (m->kind == NCCL && s.at != s.end) {
		for (const Elf64_Sym *q = s.at; q < s.end; q++) {
			if (q->st_shndx != SHN_UNDEF)
				nccl_symbol(m, vg_symbol_name(&s, q), q);
		}
	} else if (m->kind == NCCL && !m->shared) {
		redirect_found(m);
	}
	if (m->kind == NCCL && !m->shared && !m->count)
		vg_skip(m->path, ": no CUDA runtime was found in it; virtual GPUs need "
				 "an NCCL with one inside, or one that uses libcudart.so");
	if (m->kind == NCCL)
		nccl_version(m);
	if (vg_env("VGPU_LOG", 0) && (m->count || m->shared))
		vg_log("%s: %u entry points redirected%s", m->path, m->count,
		       m->shared ? " (it uses libcudart.so)" : "");
	vg_image_close(&m->image);
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

static void spin_in(const struct dl_phdr_info *info)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + h->p_vaddr;

		if (h->p_type == PT_LOAD && h->p_flags & PF_X)
			vg_spin_in(at, at + h->p_memsz);
	}
}

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
	if (kind == NCCL)
		spin_in(info);
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
