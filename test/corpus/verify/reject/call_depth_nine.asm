# SPDX-License-Identifier: MIT
# golden
# expect: reject call_depth 21
call local f1 # near:
mov %r0, 0 # near:
exit # near:
repeat 7 2 1
f$<:
call local f$
mov %r0, 0
exit
end
f8:
mov %r0, 0
exit
