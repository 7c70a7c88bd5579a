# SPDX-License-Identifier: MIT
# expect: reject map_bounds 148
# More numbers are known on the stack than a stored state keeps apart.
mov %r6, %r1
ldxw %r2, [%r1+24]
mov %r3, 400 # near: mov %r3, 0
jeq %r2, 0, join
mov %r3, 4
join:
stxdw [%r10-512], %r3
repeat 63 8 8
stdw [%r10-$], $
end
mov %r3, 8
mov %r4, 9
mov %r5, 10
mov %r7, 11
mov %r8, 12
mov %r2, 1
jeq %r2, 0, +1
mov %r2, 0
add %r3, %r4
add %r3, %r5
add %r3, %r7
add %r3, %r8
repeat 63 8 8
ldxdw %r2, [%r10-$]
end
ldxdw %r3, [%r10-512]
read_at @bss, 0, %r3
mov %r0, 0
exit
