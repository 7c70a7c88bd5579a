# SPDX-License-Identifier: MIT
# expect: reject not_pointer 8
ldxdw %r7, [%r1]
rsh %r7, 1
lddw map_value %r6, @bss, 0
add %r6, %r7 # near: add %r6, 64
jne %r6, 0, out
lddw %r1, 0x1000
stdw [%r1], 42
