# SPDX-License-Identifier: MIT
# expect: reject not_pointer 6
lddw map_value %r6, @bss, 0
add %r6, -8 # near: add %r6, 8
jne %r6, 0, out
lddw %r1, 0x1000
stdw [%r1], 42
