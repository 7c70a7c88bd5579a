# SPDX-License-Identifier: MIT
# Where the paths of n40 meet is only known after as many passes over the
# function as there are steps below it, one more each: too many. Then they
# meet at its end.
# expect: reject local_output 164
# flow: branch
mov %r9, %r1
mov %r8, 0
n40:
add %r8, 1
jgt %r8, 3, up
ldxw %r2, [%r9+64]
# near: ldxw %r2, [%r9+32]
jeq %r2, 0, up
n39:
ldxw %r2, [%r9+32]
jeq %r2, 0, n40
add %r8, 1
jgt %r8, 3, n40
n38:
ldxw %r2, [%r9+32]
jeq %r2, 0, n39
add %r8, 1
jgt %r8, 3, n39
n37:
ldxw %r2, [%r9+32]
jeq %r2, 0, n38
add %r8, 1
jgt %r8, 3, n38
n36:
ldxw %r2, [%r9+32]
jeq %r2, 0, n37
add %r8, 1
jgt %r8, 3, n37
n35:
ldxw %r2, [%r9+32]
jeq %r2, 0, n36
add %r8, 1
jgt %r8, 3, n36
n34:
ldxw %r2, [%r9+32]
jeq %r2, 0, n35
add %r8, 1
jgt %r8, 3, n35
n33:
ldxw %r2, [%r9+32]
jeq %r2, 0, n34
add %r8, 1
jgt %r8, 3, n34
n32:
ldxw %r2, [%r9+32]
jeq %r2, 0, n33
add %r8, 1
jgt %r8, 3, n33
n31:
ldxw %r2, [%r9+32]
jeq %r2, 0, n32
add %r8, 1
jgt %r8, 3, n32
n30:
ldxw %r2, [%r9+32]
jeq %r2, 0, n31
add %r8, 1
jgt %r8, 3, n31
n29:
ldxw %r2, [%r9+32]
jeq %r2, 0, n30
add %r8, 1
jgt %r8, 3, n30
n28:
ldxw %r2, [%r9+32]
jeq %r2, 0, n29
add %r8, 1
jgt %r8, 3, n29
n27:
ldxw %r2, [%r9+32]
jeq %r2, 0, n28
add %r8, 1
jgt %r8, 3, n28
n26:
ldxw %r2, [%r9+32]
jeq %r2, 0, n27
add %r8, 1
jgt %r8, 3, n27
n25:
ldxw %r2, [%r9+32]
jeq %r2, 0, n26
add %r8, 1
jgt %r8, 3, n26
n24:
ldxw %r2, [%r9+32]
jeq %r2, 0, n25
add %r8, 1
jgt %r8, 3, n25
n23:
ldxw %r2, [%r9+32]
jeq %r2, 0, n24
add %r8, 1
jgt %r8, 3, n24
n22:
ldxw %r2, [%r9+32]
jeq %r2, 0, n23
add %r8, 1
jgt %r8, 3, n23
n21:
ldxw %r2, [%r9+32]
jeq %r2, 0, n22
add %r8, 1
jgt %r8, 3, n22
n20:
ldxw %r2, [%r9+32]
jeq %r2, 0, n21
add %r8, 1
jgt %r8, 3, n21
n19:
ldxw %r2, [%r9+32]
jeq %r2, 0, n20
add %r8, 1
jgt %r8, 3, n20
n18:
ldxw %r2, [%r9+32]
jeq %r2, 0, n19
add %r8, 1
jgt %r8, 3, n19
n17:
ldxw %r2, [%r9+32]
jeq %r2, 0, n18
add %r8, 1
jgt %r8, 3, n18
n16:
ldxw %r2, [%r9+32]
jeq %r2, 0, n17
add %r8, 1
jgt %r8, 3, n17
n15:
ldxw %r2, [%r9+32]
jeq %r2, 0, n16
add %r8, 1
jgt %r8, 3, n16
n14:
ldxw %r2, [%r9+32]
jeq %r2, 0, n15
add %r8, 1
jgt %r8, 3, n15
n13:
ldxw %r2, [%r9+32]
jeq %r2, 0, n14
add %r8, 1
jgt %r8, 3, n14
n12:
ldxw %r2, [%r9+32]
jeq %r2, 0, n13
add %r8, 1
jgt %r8, 3, n13
n11:
ldxw %r2, [%r9+32]
jeq %r2, 0, n12
add %r8, 1
jgt %r8, 3, n12
n10:
ldxw %r2, [%r9+32]
jeq %r2, 0, n11
add %r8, 1
jgt %r8, 3, n11
n9:
ldxw %r2, [%r9+32]
jeq %r2, 0, n10
add %r8, 1
jgt %r8, 3, n10
n8:
ldxw %r2, [%r9+32]
jeq %r2, 0, n9
add %r8, 1
jgt %r8, 3, n9
n7:
ldxw %r2, [%r9+32]
jeq %r2, 0, n8
add %r8, 1
jgt %r8, 3, n8
n6:
ldxw %r2, [%r9+32]
jeq %r2, 0, n7
add %r8, 1
jgt %r8, 3, n7
n5:
ldxw %r2, [%r9+32]
jeq %r2, 0, n6
add %r8, 1
jgt %r8, 3, n6
n4:
ldxw %r2, [%r9+32]
jeq %r2, 0, n5
add %r8, 1
jgt %r8, 3, n5
n3:
ldxw %r2, [%r9+32]
jeq %r2, 0, n4
add %r8, 1
jgt %r8, 3, n4
n2:
ldxw %r2, [%r9+32]
jeq %r2, 0, n3
add %r8, 1
jgt %r8, 3, n3
n1:
ldxw %r2, [%r9+32]
jeq %r2, 0, n2
add %r8, 1
jgt %r8, 3, n2
ja out
up:
mov %r3, 2
stxw [%r9+76], %r3
out:
mov %r0, 0
exit
