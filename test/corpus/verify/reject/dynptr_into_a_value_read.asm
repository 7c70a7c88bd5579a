# SPDX-License-Identifier: MIT
# dynptr into a value read
# expect: reject object_read 7
lddw map_value %r1, @bss, 0
mov %r2, 32
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 197
# near: stdw [%r10-16], 0
ldxdw %r0, [%r10-16]
exit
