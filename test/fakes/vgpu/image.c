// SPDX-License-Identifier: MIT
// Reads the file of a loaded library. Trusts no offset in it.
#include "test/fakes/vgpu/image.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool inside(const struct vg_image *im, uint64_t off, uint64_t size)
{
	return off <= im->size && size <= im->size - off;
}

bool vg_image_open(struct vg_image *im, const char *path, uintptr_t base)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	im->base = base;
	if (fd < 0)
		return false;
	im->file = MAP_FAILED;
	if (!fstat(fd, &st) && st.st_size > 0) {
		im->size = (size_t)st.st_size;
		im->file = mmap(NULL, im->size, PROT_READ, MAP_PRIVATE, fd, 0);
	}
	close(fd);
	return im->file != MAP_FAILED;
}

void vg_image_close(struct vg_image *im)
{
	munmap(im->file, im->size);
}

const Elf64_Shdr *vg_image_sections(const struct vg_image *im, unsigned *n)
{
	const Elf64_Ehdr *eh = (const void *)im->file;

	*n = 0;
	if (!inside(im, 0, sizeof *eh) || eh->e_shoff == 0 ||
	    !inside(im, eh->e_shoff, eh->e_shnum * sizeof(Elf64_Shdr)))
		return NULL;
	*n = eh->e_shnum;
	return (const void *)(im->file + eh->e_shoff);
}

const char *vg_image_section_name(const struct vg_image *im, const Elf64_Shdr *sh)
{
	const Elf64_Ehdr *eh = (const void *)im->file;
	unsigned n;
	const Elf64_Shdr *all = vg_image_sections(im, &n);

	if (!all || eh->e_shstrndx >= n)
		return "";
	const Elf64_Shdr *names = &all[eh->e_shstrndx];
	if (sh->sh_name >= names->sh_size || !inside(im, names->sh_offset, names->sh_size))
		return "";
	return im->file + names->sh_offset + sh->sh_name;
}

static struct vg_symbols symbols_of(const struct vg_image *im, const Elf64_Shdr *t)
{
	struct vg_symbols s = { 0 };
	unsigned n;
	const Elf64_Shdr *sh = vg_image_sections(im, &n);

	if (t->sh_link >= n || !inside(im, t->sh_offset, t->sh_size))
		return s;
	const Elf64_Shdr *str = &sh[t->sh_link];
	if (!inside(im, str->sh_offset, str->sh_size))
		return s;
	s.at = (const void *)(im->file + t->sh_offset);
	s.end = s.at + t->sh_size / sizeof *s.at;
	s.names = im->file + str->sh_offset;
	s.names_size = str->sh_size;
	return s;
}

struct vg_symbols vg_image_symbols(const struct vg_image *im, unsigned type)
{
	unsigned n;
	const Elf64_Shdr *sh = vg_image_sections(im, &n);

	for (unsigned i = 0; i < n; i++) {
		if (sh[i].sh_type == type)
			return symbols_of(im, &sh[i]);
	}
	return (struct vg_symbols){ 0 };
}

const char *vg_symbol_name(const struct vg_symbols *s, const Elf64_Sym *q)
{
	return q->st_name < s->names_size ? s->names + q->st_name : "";
}
