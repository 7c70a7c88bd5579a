# SPDX-License-Identifier: MIT
# Not even where the pointer ends up near enough.
# expect: reject pointer_range 10
lookup @counts
jne %r0, 0, +2
mov %r0, 0
exit
add %r0, 10
add %r0, -536870917 # near: add %r0, -536870910
mov %r0, 0
exit
