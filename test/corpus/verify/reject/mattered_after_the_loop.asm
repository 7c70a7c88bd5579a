# SPDX-License-Identifier: MIT
# expect: reject pointer_range 6
# A number counted in a loop that only the budget ends is used behind it.
mov %r3, 4
l:
may_goto done
add %r3, 60 # near: add %r3, 0
ja l
done:
lddw map_value %r4, @bss, 0
add %r4, %r3
ldxb %r0, [%r4]
mov %r0, 0
exit
