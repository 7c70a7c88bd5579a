# SPDX-License-Identifier: MIT
# expect: reject use_after_release 14
# opts: held
lddw map_value %r1, @bss, 0
mov %r2, 32
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 197
mov %r1, %r10
add %r1, -16
mov %r2, 0
mov %r3, 8
call 203
jeq %r0, 0, out
stdw [%r10-16], 0 # near: stdw [%r10-24], 0
ldxdw %r1, [%r0]
out:
mov %r0, 0
exit
