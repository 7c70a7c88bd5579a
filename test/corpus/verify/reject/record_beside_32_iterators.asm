# SPDX-License-Identifier: MIT
# record beside 32 iterators
# expect: reject references 164
repeat 32 -8 -8
iter_new $, 0, 1
end
lddw map %r1, @ring
mov %r2, 8
mov %r3, 0
call 131 # near:
repeat 32 -8 -8
iter_end $
end
mov %r0, 0
exit
