# SPDX-License-Identifier: MIT
# no helper follows addresses that a program wrote into memory: bpf_sys_bpf
# expect: reject helper_unknown 5
mov %r1, 0
stdw [%r10-8], 1
mov %r2, %r10
add %r2, -8
mov %r3, 8
call 166 # near: call 5
mov %r0, 0
exit
