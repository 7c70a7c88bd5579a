# SPDX-License-Identifier: MIT
# Not even where the pointer ends up near enough.
# expect: reject pointer_range 10
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jne %r0, 0, +2
mov %r0, 0
exit
add %r0, 10
add %r0, -536870917 # near: add %r0, -536870910
mov %r0, 0
exit
