# SPDX-License-Identifier: MIT
# expect: reject dynptr_none 6
# opts: held
stdw [%r10-16], 0 # near: lddw map_value %r1, @bss, 0
stdw [%r10-8], 0 # near: mov %r2, 32
# near: mov %r3, 0
# near: mov %r4, %r10
# near: add %r4, -16
# near: call 197
mov %r1, %r10
add %r1, -16
mov %r2, 0
mov %r3, 8
call 203
mov %r0, 0
exit
