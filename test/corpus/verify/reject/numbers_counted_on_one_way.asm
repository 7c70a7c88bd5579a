# SPDX-License-Identifier: MIT
# As many iterators were begun on both ways, of more numbers on one: with long iterations
# the third is one too many for that way alone.
# expect: reject run_length 65
mov %r6, %r1
ldxw %r7, [%r6+28]
jeq %r7, 3, more
iter_new -8, 0, 1
v:
iter_next -8
jeq %r0, 0, ve
ja v
ve:
iter_end -8
iter_new -8, 0, 1
w:
iter_next -8
jeq %r0, 0, we
ja w
we:
iter_end -8
ja s
more:
iter_new -8, 0, 4096 # near: iter_new -8, 0, 1
x:
iter_next -8
jeq %r0, 0, xe
call local slow
ja x
xe:
iter_end -8
iter_new -8, 0, 4096
y:
iter_next -8
jeq %r0, 0, ye
call local slow
ja y
ye:
iter_end -8
s:
mov %r0, 0
mov %r7, 0
mov %r6, 0
iter_new -16, 0, 4096
z:
iter_next -16
jeq %r0, 0, ze
call local slow
ja z
ze:
iter_end -16
mov %r0, 0
exit
slow:
repeat 8 1 1
call local a
end
mov %r0, 0
exit
a:
repeat 8 1 1
call local b
end
mov %r0, 0
exit
b:
mov %r6, 0
iteration:
add %r6, 1
jne %r6, 20, iteration
mov %r0, 0
exit
