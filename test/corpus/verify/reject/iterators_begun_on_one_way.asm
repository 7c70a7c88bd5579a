# SPDX-License-Identifier: MIT
# 64 iterators end for sure. On the way where they were begun one more may end
# early, so a number that only its end makes small stays large.
# expect: reject map_bounds 872
mov %r6, %r1
mov %r8, 0
ldxw %r7, [%r6+28]
jeq %r7, 3, more # near: jeq %r8, 3, more
ja s
more:
repeat 65 0 1
iter_new -8, 0, 1
i$:
iter_next -8
jeq %r0, 0, i$e
ja i$
i$e:
iter_end -8
end
s:
mov %r7, 0
iter_new -16, 0, 3
iter_next -16
jne %r0, 0, on
mov %r8, 1000
on:
iter_end -16
find @counts
add %r0, %r8
ldxb %r1, [%r0]
