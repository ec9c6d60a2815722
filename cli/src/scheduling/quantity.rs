//! Amounts of resources, as Kubernetes writes them.

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// An amount, in billionths: `n` is the smallest suffix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(i128);

const ONE: i128 = 1_000_000_000;

/// Each suffix, and how many billionths it stands for. Those of two letters come first.
const SUFFIXES: [(&str, i128); 15] = [
    ("Ki", ONE << 10),
    ("Mi", ONE << 20),
    ("Gi", ONE << 30),
    ("Ti", ONE << 40),
    ("Pi", ONE << 50),
    ("Ei", ONE << 60),
    ("n", 1),
    ("u", 1_000),
    ("m", 1_000_000),
    ("k", ONE * 1_000),
    ("M", ONE * 1_000_000),
    ("G", ONE * 1_000_000_000),
    ("T", ONE * 1_000_000_000_000),
    ("P", ONE * 1_000_000_000_000_000),
    ("E", ONE * 1_000_000_000_000_000_000),
];

/// No quantity has more: `ParseQuantity` caps what does not fit into 64 bits.
const MOST_DIGITS: usize = 18;

impl Amount {
    /// Reads a quantity such as `500m`, `1.5Gi` or `1e3`; nothing, if it is none.
    ///
    /// Upstream: `ParseQuantity` of `k8s.io/apimachinery/pkg/api/resource`.
    pub fn read(text: &str) -> Option<Self> {
        let (number, unit) =
            SUFFIXES.iter().find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, *unit))).unwrap_or((text, ONE));
        match number.split_once(['e', 'E']) {
            Some((number, exponent)) if unit == ONE => Self::scaled(number, ONE, exponent.parse().ok()?),
            Some(_) => None,
            None => Self::scaled(number, unit, 0),
        }
    }

    /// `number` × `unit` × 10^`exponent`, rounded up as Kubernetes rounds.
    fn scaled(number: &str, unit: i128, exponent: i32) -> Option<Self> {
        let (negative, digits) = match number.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, number.strip_prefix('+').unwrap_or(number)),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all = format!("{whole}{fraction}");
        if all.is_empty() || all.len() > MOST_DIGITS || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let shift = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        let power = 10_i128.checked_pow(shift.unsigned_abs())?;
        let amount = all.parse::<i128>().ok()?.checked_mul(unit)?;
        let amount = if shift < 0 { (amount + power - 1) / power } else { amount.checked_mul(power)? };
        Some(Self(if negative { -amount } else { amount }))
    }
}

impl From<&Quantity> for Amount {
    /// What is no quantity, no API server stores: it counts as none.
    fn from(quantity: &Quantity) -> Self {
        Self::read(&quantity.0).unwrap_or_default()
    }
}

impl std::ops::Add for Amount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::millis("500m", "0.5")]
    #[case::a_fraction("1.5", "1500m")]
    #[case::binary("1Ki", "1024")]
    #[case::a_binary_fraction("0.5Gi", "512Mi")]
    #[case::decimal("1k", "1000")]
    #[case::an_exponent("1e3", "1k")]
    #[case::a_negative_exponent("5e-1", "500m")]
    #[case::exa("1E", "1e18")]
    #[case::signed("+1", "1")]
    fn quantities_are_compared_by_what_they_say(#[case] one: &str, #[case] other: &str) {
        assert_eq!(Amount::read(one).unwrap(), Amount::read(other).unwrap());
    }

    #[rstest]
    #[case::nothing("")]
    #[case::a_suffix_alone("Mi")]
    #[case::a_word("much")]
    #[case::two_suffixes("1mKi")]
    #[case::too_long("99999999999999999999")]
    fn what_is_no_quantity_is_none(#[case] text: &str) {
        assert_eq!(Amount::read(text), None);
    }

    #[test]
    fn amounts_are_ordered() {
        assert!(Amount::read("999m") < Amount::read("1"));
        assert!(Amount::read("1G") < Amount::read("1Gi"));
        assert!(Amount::read("-1") < Amount::read("0"));
    }
}
