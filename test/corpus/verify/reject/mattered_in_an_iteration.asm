# SPDX-License-Identifier: MIT
# expect: reject map_bounds 5
# A pass of may_goto makes the number too large for the next one.
mov %r3, 4
l:
may_goto done
read_at @bss, 0, %r3
add %r3, 60 # near: add %r3, 0
ja l
done:
mov %r0, 0
exit
