"""Turns client properties and Strimzi's fields into a cluster of a topology, without the credentials themselves."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kafka_replication.components.kafka.connections import LOGIN_MODULES
from kafka_replication.components.properties.values import Value, value_text
from kafka_replication.infra.onboard.importing.reading import Notes
from kafka_replication.infra.onboard.importing.values import may_be_secret, secret_key, unresolved

Fields = Mapping[str, Any]
OPTION = re.compile(r"""([\w.]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;"']+))""")
_SASL = frozenset({"plain", "scram-sha-256", "scram-sha-512"})
_OAUTH_SECRETS = ("clientSecret", "accessToken", "refreshToken")
_OAUTH_PLAIN = ("tokenEndpointUri", "clientId", "scope", "audience")
_SAY_TRUST = "name one key that holds all certificates, as `tls.trust: {secret: NAME, key: KEY}` of the cluster."


def operator_properties(given: Fields) -> dict[str, str]:
    """Return the client properties by which a resource's cluster is connected to, except those that hold credentials.
    Source: Strimzi KafkaMirrorMaker2Connectors."""
    login = given.get("authentication") or {}
    sasl = login.get("type", "tls") != "tls" and login.get("sasl", True)
    protocol = ("SASL_" if sasl else "") + ("SSL" if isinstance(given.get("tls"), Mapping) else "PLAINTEXT")
    mechanism = {"sasl.mechanism": str(login["type"]).upper()} if login.get("type") in _SASL else {}
    return {"bootstrap.servers": str(given.get("bootstrapServers", "")), "security.protocol": protocol, **mechanism}


@dataclass
class Logins:
    """Translates the connection to a cluster. `needed` collects the configuration keys that somebody has to set because
    the input holds the credential itself, each with its meaning; `resolved` turns placeholders into those of rendered
    workers."""

    alias: str
    notes: Notes
    needed: dict[str, str]
    resolved: Callable[[Value], str] = value_text

    @property
    def namespace(self) -> str:
        """Return the namespace of the workers."""
        return self.notes.read.namespace

    def of_fields(self, given: Fields) -> dict[str, Any]:
        """Return `bootstrapServers`, `tls` and `authentication` of a Strimzi resource in the form of a topology."""
        cluster: dict[str, Any] = {"bootstrapServers": self._address(str(given.get("bootstrapServers", "")))}
        if isinstance(given.get("tls"), Mapping):
            cluster["tls"] = {}
            if (first := self._only(given["tls"], "tls.trustedCertificates", _SAY_TRUST)) is not None:
                key = "pattern" if "pattern" in first else "key"
                named = first.get("pattern", first.get("certificate", "ca.crt"))
                cluster["tls"] = {"trust": {"secret": first.get("secretName", ""), key: named}}
        if isinstance(given.get("authentication"), Mapping):
            login = self._authentication(given["authentication"])
            cluster |= {"authentication": login} if login else {}
        return cluster

    def of_properties(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Return client properties without their prefix in the form of a topology."""
        left = dict(given)
        cluster: dict[str, Any] = {"bootstrapServers": self._address(left.pop("bootstrap.servers", ""))}
        protocol = left.pop("security.protocol", "PLAINTEXT")
        if protocol.endswith("SSL"):
            trust = self._trust(left)
            cluster["tls"] = {"trust": trust} if trust else {}
        login = self._login(left) if protocol.startswith("SASL") else self._certificate(left)
        cluster |= {"authentication": login} if login else {}
        for key in left:
            why = "The topology derives the connection from the cluster's keys, and none of them sets this property."
            self.notes(key, "connection-property", why, "remove it, or put it under `connectors.source.config`.")
        return cluster

    def of_both(self, given: Fields, properties: Mapping[str, str]) -> dict[str, Any]:
        """Return the same as `of_fields`, if the operator also passes on client properties, which win."""
        cluster, fields, derived = self.of_fields(given), given.get("authentication"), operator_properties(given)
        own = {key: value for key, value in properties.items() if value != derived.get(key)}
        if not own:
            return cluster
        if fields:
            for key in own:
                why = "The cluster's `authentication` decides the login, and a topology has no second value."
                remedy = "remove it, or replace `authentication` by one of `type: custom` that has every property."
                self.notes(f"config.{key}", "connection-property", why, remedy)
            return cluster
        of_config = replace(self, notes=self.notes.below("config"))
        return of_config.of_properties(derived | dict(properties)) | cluster

    def credential(self, text: str, what: str) -> dict[str, str]:
        """Return a reference to a credential: the Secret that a placeholder names, or a new key of the stack."""
        reference = secret_key(text, self.namespace)
        if reference is not None:
            return reference
        words = [word.capitalize() for word in re.split(r"[^A-Za-z0-9]+", f"{self.alias} {what}") if word]
        return {"config": self._key(words[0].lower() + "".join(words[1:]), f"the {what} for cluster `{self.alias}`")}

    def _key(self, key: str, what: str) -> str:
        """Return a unique configuration key: aliases such as `us-east` and `useast` give the same."""
        while self.needed.get(key, what) != what:
            key += "2"
        self.needed[key] = what
        return key

    def _address(self, text: str) -> Any:
        if text and not unresolved(text):
            return text
        key = f"{re.sub('[^A-Za-z0-9]', '', self.alias)}Servers"
        return {"config": self._key(key, f"the bootstrap servers of cluster `{self.alias}`")}

    def _only(self, given: Fields, where: str, remedy: str) -> Fields | None:
        """Return the first of the certificates at the end of a path, and note if there are more."""
        certificates = list(given.get(where.rpartition(".")[2]) or [])
        if len(certificates) > 1:
            why = f"{len(certificates)} Secrets are trusted, but the topology can name only one. The first is taken."
            self.notes(where, "several-trusted-certificates", why, remedy)
        return next(iter(certificates), None)

    def _authentication(self, given: Fields) -> dict[str, Any] | None:
        kind = given.get("type")
        if kind in _SASL:
            password = given.get("passwordSecret") or {}
            reference = {"secret": password.get("secretName"), "key": password.get("password")}
            return {"type": kind, "username": given.get("username"), "password": reference}
        if kind == "tls":
            pair = given.get("certificateAndKey") or {}
            login = {"type": "tls", "secret": pair.get("secretName")}
            return {**login, "certificate": pair.get("certificate"), "key": pair.get("key")}
        if kind == "oauth":
            return self._oauth(given)
        if kind == "custom":
            config = {str(key): self.resolved(value) for key, value in (given.get("config") or {}).items()}
            hidden = replace(self, notes=self.notes.below("authentication.config"))._hidden(config)
            return {"type": "custom", **({} if given.get("sasl", True) else {"sasl": False}), "config": hidden}
        why = "The topology knows `plain`, `scram-sha-256`, `scram-sha-512`, `tls`, `oauth` and `custom`."
        self.notes("authentication.type", "login-not-known", why, "set the cluster's `authentication`.")
        return None

    def _oauth(self, given: Fields) -> dict[str, Any]:
        login: dict[str, Any] = {"type": "oauth"}
        login |= {key: given[key] for key in _OAUTH_PLAIN if key in given}
        for key in _OAUTH_SECRETS:
            if key in given:
                login[key] = {"secret": given[key].get("secretName"), "key": given[key].get("key")}
        where = "authentication.tlsTrustedCertificates"
        trusted = self._only(given, where, "put all certificates in one key of a Secret.")
        if trusted is not None and "pattern" in trusted:
            why = "It trusts every key of a Secret that matches a pattern, and the topology names one key."
            self.notes(where, "oauth-field", why, "put all certificates in one key of a Secret.")
        elif trusted is not None:
            login["trust"] = {"secret": trusted.get("secretName"), "key": trusted.get("certificate")}
        known = {"type", "tlsTrustedCertificates", *_OAUTH_PLAIN, *_OAUTH_SECRETS}
        for key in sorted(given.keys() - known):
            why = "The topology's `oauth` login has no such key."
            self.notes(f"authentication.{key}", "oauth-field", why, "use a `custom` login, which takes any property.")
        return login

    def _login(self, left: dict[str, str]) -> dict[str, Any] | None:
        mechanism, jaas = left.pop("sasl.mechanism", "GSSAPI"), left.pop("sasl.jaas.config", "")
        module, _, rest = jaas.strip().partition(" ")
        options = {key: next(filter(None, values), "") for key, *values in OPTION.findall(rest)}
        simple = module == LOGIN_MODULES.get(mechanism) and options.keys() == {"username", "password"}
        if simple and mechanism.lower() in _SASL and "${" not in options["username"]:
            if placeholder := unresolved(options["password"]):
                why = f"Its placeholder {placeholder} needs a configuration provider that the rendered workers lack."
                self.notes(
                    "sasl.jaas.config", "provider-not-known", why, "set the configuration key listed at the end."
                )
            password = self.credential(options["password"], "password")
            return {"type": mechanism.lower(), "username": options["username"], "password": password}
        others = {key: left.pop(key) for key in list(left) if key.startswith("sasl.")}
        modules = {"sasl.jaas.config": jaas} if jaas else {}
        if "keyTab" in options:
            why = "The key table is a file in the workers, and nothing in the input says which Secret holds it."
            remedy = "mount it: `connect.template.pod.volumes`, `connect.template.connectContainer.volumeMounts`."
            self.notes("sasl.jaas.config", "keystore-file", why, remedy)
        return {"type": "custom", "config": self._hidden({"sasl.mechanism": mechanism, **modules, **others})}

    def _hidden(self, config: dict[str, str]) -> dict[str, str]:
        """Return the properties of a custom login without credentials in plain text; each must become a placeholder."""
        hidden = {}
        secret = re.sub("[^a-z0-9-]", "-", self.alias.lower())
        # The alias is in the key if the Secret's name cannot have it.
        prefix = "" if secret == self.alias else f"{self.alias}."
        for key, value in config.items():
            unknown = unresolved(value)
            if may_be_secret(key, value) or unknown:
                name = "".join(part.capitalize() for part in re.split("[^A-Za-z0-9]+", key))
                placeholder = f"${{secret:{secret}-login:{prefix}{name}}}"
                why = "It holds a credential in plain text, which is not written."
                if unknown:
                    why = f"Its placeholder {unknown} needs a configuration provider that the rendered workers lack."
                remedy = (
                    f"put the value into the Secret and the key that {placeholder} names, in the workers' namespace."
                )
                self.notes(key, "provider-not-known" if unknown else "plain-text-credential", why, remedy)
                value = placeholder
            hidden[key] = value
        return hidden

    def _certificate(self, left: dict[str, str]) -> dict[str, Any] | None:
        chain, key = left.get("ssl.keystore.certificate.chain", ""), left.get("ssl.keystore.key", "")
        certificate, private = secret_key(chain, self.namespace), secret_key(key, self.namespace)
        if certificate and private and certificate["secret"] == private["secret"]:
            for name in ("ssl.keystore.type", "ssl.keystore.certificate.chain", "ssl.keystore.key"):
                left.pop(name, None)
            return {
                "type": "tls",
                "secret": certificate["secret"],
                "certificate": certificate["key"],
                "key": private["key"],
            }
        stores = {name: left.pop(name) for name in list(left) if name.startswith(("ssl.keystore.", "ssl.key."))}
        if stores:
            why = "A client certificate must be PEM in one Secret; a topology cannot name a keystore file."
            self.notes("ssl.keystore", "keystore-file", why, "set `authentication: {type: tls, secret: NAME}`.")
        return None

    def _trust(self, left: dict[str, str]) -> dict[str, Any] | None:
        truststore = {key: left.pop(key) for key in list(left) if key.startswith("ssl.truststore.")}
        pem = secret_key(truststore.get("ssl.truststore.certificates", ""), self.namespace)
        if pem is not None:
            return dict(pem)
        if truststore:
            why = "The truststore is a file in the workers, and nothing in the input says which Secret holds it."
            self.notes("ssl.truststore", "truststore-file", why, _SAY_TRUST)
        return None
