# SPDX-License-Identifier: MIT
# expect: reject map_bounds 5
# A pass of may_goto makes the number too large for the next one.
mov %r3, 4
l:
may_goto done
lddw map_value %r4, @bss, 0
add %r4, %r3
ldxb %r0, [%r4]
add %r3, 60 # near: add %r3, 0
ja l
done:
mov %r0, 0
exit
