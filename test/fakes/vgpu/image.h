// SPDX-License-Identifier: MIT
// A loaded ELF file: where it lies in memory, its sections and symbols.
#ifndef VGPU_IMAGE_H
#define VGPU_IMAGE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vg_image {
	uintptr_t base; // added to an address of the file
	char *file;	// the file, mapped
	size_t size;
};

// false: the file cannot be read. Close unmaps the file, not what is loaded.
bool vg_image_open(struct vg_image *im, const char *path, uintptr_t base);
void vg_image_close(struct vg_image *im);

// The section headers, or NULL and *n = 0.
const Elf64_Shdr *vg_image_sections(const struct vg_image *im, unsigned *n);
const char *vg_image_section_name(const struct vg_image *im, const Elf64_Shdr *sh);

struct vg_symbols {
	const Elf64_Sym *at, *end;
	const char *names;
	size_t names_size;
};

// @type: SHT_SYMTAB or SHT_DYNSYM. Empty if the file has no such table.
struct vg_symbols vg_image_symbols(const struct vg_image *im, unsigned type);
const char *vg_symbol_name(const struct vg_symbols *s, const Elf64_Sym *q);

#endif
