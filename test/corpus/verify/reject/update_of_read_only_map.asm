# SPDX-License-Identifier: MIT
# expect: reject map_read_only 10
stw [%r10-4], 0
stdw [%r10-24], 0
stdw [%r10-16], 0
mov %r2, %r10
add %r2, -4
mov %r3, %r10
add %r3, -24
lddw map %r1, @config # near: lddw map %r1, @sink
mov %r4, 0
call 2
mov %r0, 0
exit
