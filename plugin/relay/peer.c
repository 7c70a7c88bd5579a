// SPDX-License-Identifier: MIT
/*
 * Reads the roles in the subject of the client's certificate. An organizational
 * unit names a role, because etcd's JSON gateway refuses certificates with a
 * common name, and one certificate should work for both servers.
 */
#include "plugin/relay/peer.h"

#include <stdint.h>
#include <string.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <microhttpd.h>

static int refuse_certificate(unsigned status, struct nb_err *err)
{
	gnutls_datum_t text = { NULL, 0 };

	gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0);
	nb_fail(err, NB_E_PERM, 0, "the client's certificate is refused: %.200s",
		text.data ? (const char *)text.data : "not valid");
	gnutls_free(text.data);
	return NB_E_PERM;
}

/* Read the roles among the organizational units of the subject. */
static int read_roles(const gnutls_datum_t *der, bool *control, struct nb_err *err)
{
	gnutls_x509_crt_t crt;
	bool observe = false;
	char unit[128], subject[200] = "?";
	size_t size = sizeof(subject);

	*control = false;
	if (gnutls_x509_crt_init(&crt))
		return nb_fail(err, NB_E_NOMEM, 0, "TLS: no memory");
	if (!gnutls_x509_crt_import(crt, der, GNUTLS_X509_FMT_DER)) {
		gnutls_x509_crt_get_dn(crt, subject, &size);
		for (unsigned i = 0;; i++) {
			size = sizeof(unit);
			if (gnutls_x509_crt_get_dn_by_oid(crt,
							  GNUTLS_OID_X520_ORGANIZATIONAL_UNIT_NAME,
							  i, 0, unit, &size))
				break;
			if (!strcmp(unit, "ncclbpf-control"))
				*control = true;
			if (!strcmp(unit, "ncclbpf-observe"))
				observe = true;
		}
	}
	gnutls_x509_crt_deinit(crt);
	if (*control || observe)
		return 0;
	return nb_fail(err, NB_E_PERM, 0,
		       "the client's certificate (%s) has no role: "
		       "the organizational unit must be ncclbpf-observe or ncclbpf-control",
		       subject);
}

/*
 * Verify the client's certificate. *@der becomes the certificate, which the
 * session owns.
 */
static int verify_peer(struct MHD_Connection *c, const gnutls_datum_t **der, struct nb_err *err)
{
	const union MHD_ConnectionInfo *info;
	/* a certificate only for servers is not valid for a client */
	gnutls_typed_vdata_st purpose = {
		.type = GNUTLS_DT_KEY_PURPOSE_OID,
		.data = (unsigned char *)(uintptr_t)GNUTLS_KP_TLS_WWW_CLIENT,
	};
	gnutls_session_t session;
	unsigned status, n = 0;

	info = MHD_get_connection_info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION);
	session = info ? info->tls_session : NULL;
	*der = session ? gnutls_certificate_get_peers(session, &n) : NULL;
	if (!*der || !n)
		return nb_fail(err, NB_E_PERM, 0,
			       "the client shows no certificate: one with a role is required");
	if (gnutls_certificate_verify_peers(session, &purpose, 1, &status))
		return nb_fail(err, NB_E_PERM, 0, "the client's certificate cannot be verified");
	return status ? refuse_certificate(status, err) : 0;
}

int nb_relay_peer(struct MHD_Connection *c, bool tls, bool *control, struct nb_err *err)
{
	const gnutls_datum_t *der;
	int rc;

	*control = false;
	if (!tls)
		return 0;
	rc = verify_peer(c, &der, err);
	return rc ? rc : read_roles(der, control, err);
}
