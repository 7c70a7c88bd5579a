# SPDX-License-Identifier: MIT
# expect: reject stack_uninit 8
# opts: held
lddw map_value %r1, @bss, 0
mov %r2, 32
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 197
stdw [%r10-16], 0 # near: stdw [%r10-8], 0
ldxdw %r0, [%r10-8]
exit
