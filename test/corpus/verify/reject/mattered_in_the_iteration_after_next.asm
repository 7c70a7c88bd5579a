# SPDX-License-Identifier: MIT
# expect: reject map_bounds 9
# What an iteration of may_goto leaves for the next one came from a register that
# nothing else uses.
ldxw %r2, [%r1+24]
mov %r5, 400 # near: mov %r5, 0
jeq %r2, 0, join
mov %r5, 4
join:
mov %r3, 4
l:
may_goto done
read_at @bss, 0, %r3
mov %r3, %r5
ja l
done:
mov %r0, 0
exit
