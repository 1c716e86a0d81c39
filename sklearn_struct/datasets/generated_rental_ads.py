"""Generated apartment advertisements with labelled fields: text to segment without a download."""

from __future__ import annotations

import numbers
import re

import numpy as np
from sklearn.utils import check_random_state

__all__ = ["make_rental_ads"]

# A grammar: alternatives are parted by "|" and come up less often the later they stand; <name> is
# replaced by an alternative of that name, each # by a digit. Many words stand in several fields on
# purpose: numbers, "month", "room", "parking", "street", "water", "available", "call" and the place
# names are told apart by context alone.
GRAMMAR = {
    "SIZE": """<beds> <baths> | <beds> | <beds> <baths> <home> | <beds> <home>
        | <beds> <home> , <area> | <home> , <area> | studio , <area> | <area> | large <beds> <home>
        | <home> with <beds> and <baths> | living room is 1# x 1# , <area> | <few> room apartment
        | top floor <beds> | room is 1# x 1#""",
    "RENT": """$ <price> <per> | rent is $ <price> | rent $ <price> , deposit $ <price> | $ <price>
        | <price> <per> | $ <price> <per> , $ <price> deposit | rent : <price>
        | asking $ <price> <per> | deposit is $ <price>
        | first month and $ <small> deposit to move in | <price> to <price> <per>
        | month to month for $ <price> | one month free rent | rent reduced to <price>
        | parking is $ #0 extra <per> | last month and security deposit required
        | $ <small> off the first month""",
    "FEATURES": """<feature> | <feature> , <feature> | <feature> and <feature>
        | <feature> , <feature> and <feature> | <feature> , <feature> , <feature> , <feature>
        | has <feature> and <feature> | comes with <feature> | <feature> and <feature> available
        | the building has <feature> | you get <feature>""",
    "NEIGHBORHOOD": """close to <thing> | near <thing> and <thing> | near <thing>
        | <minutes> to <thing> | in <quarter> | walk to <thing> and <thing> | located in <quarter>
        | quiet street near <thing> | downtown <place> | in the heart of <quarter>
        | close to <thing> , <thing> and <thing> | <thing> nearby | safe and quiet street
        | <adjective> neighborhood with <thing> | shopping and <thing> within <few> blocks
        | minutes from <thing> | plenty of street parking | one block from <place> <road>""",
    "ADDRESS": """#### <place> <road> | ### <place> <road> | <place> <road> at <place> <road>
        | ### <ordinal> street | #### <place> <road> unit # | located at ### <place> <road>
        | <ordinal> street and <place> <road> | on <place> <road>
        | address : #### <place> <road> , <place> | ## <place> <road> , apt ##
        | <place> and <ordinal> | corner of <place> and <ordinal>""",
    "CONTACT": """call <phone> | call <person> at <phone> | <phone> | please call <phone>
        | email <email> | call <phone> | call or text <phone> after <hour> pm
        | contact <person> , <phone> | ask for <person> | <person> at <phone>
        | email <email> or call <phone> | call for an appointment | call <person> any time
        | open house on <day> at <hour> pm | please leave a message at <phone>
        | to see the room call <person> | shown by appointment on <day>
        | available by phone at <phone>""",
    "AVAILABLE": """available <date> | available now | available immediately | available <date>
        | move in <date> | ready <date> | <date> | open <date> | lease begins <date>
        | free from <date> | available next month | available for <few> months
        | from <date> to <date> | end of <month>""",
    "UTILITIES": """<utility> included | utilities included | <utility> and <utility> included
        | tenant pays <utility> | all utilities included | owner pays <utility> and <utility>
        | you pay <utility> | includes <utility> | utilities are about $ <small>
        | <utility> and <utility> paid | <utility> , <utility> and <utility> included
        | <utility> paid by owner | split <utility> and <utility>""",
    "RESTRICTIONS": """no <banned> | no <banned> or <banned> | <banned> ok | sorry , no <banned>
        | no <banned> please | <banned> considered | small <banned> allowed | one year lease
        | minimum <few> month lease | no <banned> in the building | maximum <few> people
        | references required | quiet tenants only | <banned> welcome | quiet after 1# pm
        | no <banned> on the street""",
    "ROOMMATES": """we are <few> <nature> people | looking for a <nature> roommate
        | roommate should be <nature> | i am a <nature> student | you are <nature> and <nature>
        | share with <few> <nature> people | we have a cat and like quiet
        | <nature> and <nature> person wanted | i work in <quarter> | my roommate is moving out
        | share kitchen and bath with <few> students | no drama please | we like to cook""",
    "PHOTOS": """photos at <url> | see pictures at <url> | <url> | click here for photos
        | pictures available at <url> | more photos of the kitchen at <url> | pictures on request
        | see <url> for a map and photos | photos below""",
    "O": """great place to live | you will love this home | do not miss this one
        | this is a must see | welcome home | will go fast | a rare find
        | this <home> was repainted last month | we looked at <few> other places
        | better than a room in <quarter> | the street was repaved in 19##
        | it has been in the family for ## years | previous tenants stayed # years
        | the <place> family lived here | what a <adjective> place | hi there
        | this one will not last the month | no need to look on <place> <road> | built in 19##
        | parking is hard to find | <beds> like this are rare | from now on you can call it home
        | it was $ <price> last year""",
    "beds": """<few> bedroom | 1 bedroom | <few> br | one bedroom | <few> bedrooms | 1 br
        | <few> bed | <few> bdrm""",
    "baths": """1 bath | 2 bath | 1.5 bath | one bath | 2 baths | 1 ba | 2 bathrooms | 2.5 baths
        | full bath""",
    "few": "2 | 3 | two | three | 4 | four",
    "home": "apartment | apt | house | flat | unit | condo | duplex | cottage | loft | room",
    "area": "##0 sq ft | ### sq ft | 1##0 sq ft | ### square feet | 1##0 sqft | about ##0 sq ft",
    "price": "1##0 | 8#5 | 1##5 | 2##0 | 9#0 | 1,##0 | 6#5",
    "small": "#0 | #00 | 1#0 | #50",
    "per": "per month | a month | / month | monthly | / mo",
    "feature": """<adjective> kitchen | laundry | parking | hardwood floors | dishwasher
        | <adjective> kitchen | garage | laundry room | <adjective> yard | fireplace | new carpet
        | gas stove | parking for <few> cars | balcony | street parking | off street parking
        | washer and dryer | closets | <adjective> living room | deck | pool | water view
        | new paint | dining room | storage room | high ceilings | patio | garden | air conditioning
        | electric heat | walk in closet | view of <place> | cable ready | <adjective> bath
        | hot tub | large windows""",
    "adjective": """large | new | sunny | quiet | nice | bright | clean | renovated | spacious | big
        | beautiful | private | modern""",
    "nature": """quiet | friendly | clean | responsible | nice | respectful | calm | tidy | bright
        | professional""",
    "thing": """shopping | downtown | schools | bus | the park | <place> park | train | freeway
        | shops | restaurants | campus | public transportation | the beach | the hospital
        | highway ## | the lake | the library | <place> <road> | the water | <place> school | bus ##
        | theaters | parking | the market | <ordinal> street""",
    "quarter": """<place> | downtown <place> | <place> heights | east <place> | <place> hills
        | <place> village""",
    "minutes": "minutes | # minutes | 1# minutes | <few> blocks | short walk | # miles",
    "place": "<first><last> | <first><last> | <first>",
    "first": """Oak | Ash | Mill | Stan | River | Wood | Lake | Fair | Maple | Park | Hill | Elm
        | Green | Spring | Clay | West | Bell | Carl | Glen | Lin | Mar | North | Rock | Sun | Wal
        | Dale | June | Ford""",
    "last": """wood | field | ton | ford | mont | dale | view | port | brook | den | side | ridge
        | land | bury | mere""",
    "road": "street | avenue | st | ave | road | drive | blvd | lane | way | court",
    "ordinal": "4th | 5th | 1st | 2nd | 3rd | 7th | 9th | 1#th",
    "person": """Ann | Bob | Maria | Dave | Lee | Susan | Mike | Grace | Tom | Irene | Paul | Clay
        | Glen | Dale | June | Ford""",
    "phone": "### - #### | ###-#### | ( ### ) ### - #### | ### - ### - #### | ###.####",
    "email": "<person>@mail.example | rent##@mail.example | home####@post.example",
    "url": """www.ads.example/## | www.homes.example | photos.example/####
        | http://homes.example/###""",
    "hour": "5 | 6 | 7 | noon or 1",
    "month": """june | july | august | may | september | march | october | april | january
        | november | december""",
    "date": """<month> 1 | <month> 1st | <month> 15 | # / 1 | <month> 2# | # / 15 | now
        | mid <month> | <month> #""",
    "day": "saturday | sunday | friday | weekends | <month> # | monday",
    "utility": """water | garbage | gas | electricity | heat | hot water | cable | trash | electric
        | internet""",
    "banned": """pets | smoking | dogs | smokers | cats | pet | dog | cat | parking | noise
        | parties | laundry""",
}
RULES = {
    name: [" ".join(choice.split()) for choice in text.split("|")] for name, text in GRAMMAR.items()
}

# Fields that an ad draws from, and where they usually stand in it.
POSITIONS = {
    "ADDRESS": 0.0, "SIZE": 1.0, "NEIGHBORHOOD": 2.0, "FEATURES": 3.0, "UTILITIES": 4.0,
    "ROOMMATES": 4.0, "O": 4.0, "RENT": 5.0, "RESTRICTIONS": 6.0, "AVAILABLE": 6.0,
    "PHOTOS": 7.0, "CONTACT": 8.0,
}  # fmt: skip
OPTIONAL = [
    *(field for field in POSITIONS if field != "SIZE"),
    "FEATURES",
    "O",
    "O",
    "NEIGHBORHOOD",
]
SEPARATORS = (".", ",", "", ".", "-", "!")


def make_rental_ads(
    n_samples: int = 100, *, random_state: int | np.random.RandomState | None = None
) -> tuple[list[list[str]], list[list[str]]]:
    """Generate apartment advertisements whose fields are labelled.

    The text comes from a small grammar. The order of the fields varies, and there is often no
    punctuation between them. Fields share many words: a number may be a rent, a size, a date, a
    telephone number or a street number. So the labels of the neighbours matter. The labels are
    ADDRESS, AVAILABLE, CONTACT, FEATURES, NEIGHBORHOOD, PHOTOS, RENT, RESTRICTIONS, ROOMMATES, SIZE
    and UTILITIES, as in the apartment advertisements ("CLASSIFIEDS") that research on weak
    supervision uses, but in IOB2 form.

    Read more in :doc:`/user_guide/few_labels`.

    Parameters
    ----------
    n_samples : int, default=100
        Number of advertisements.
    random_state : int, RandomState instance or None, default=None
        Seed of the generator; an int gives the same advertisements in each call.

    Returns
    -------
    X : list of list of str
        The tokens of each advertisement, about 30 to 80 of them.
    y : list of list of str
        Their labels, such as "B-RENT", "I-RENT" and "O".

    Raises
    ------
    ValueError
        If `n_samples` is negative or not an integer.

    See Also
    --------
    read_classifieds : The corpus of research, if you have it.
    fetch_usaddress : Real sequences of fields.

    Examples
    --------
    >>> from sklearn_struct.datasets import make_rental_ads
    >>> X, y = make_rental_ads(n_samples=2, random_state=0)
    >>> X[0][:6]
    ['Minutes', 'from', 'freeway', '.', 'Loft', ',']
    >>> y[0][:6]
    ['B-NEIGHBORHOOD', 'I-NEIGHBORHOOD', 'I-NEIGHBORHOOD', 'O', 'B-SIZE', 'I-SIZE']
    """
    if not isinstance(n_samples, numbers.Integral) or n_samples < 0:
        raise ValueError(f"n_samples must be an integer, not negative, got {n_samples!r}")
    rng = check_random_state(random_state)
    ads = [_ad(rng) for _ in range(n_samples)]
    return [tokens for tokens, _ in ads], [labels for _, labels in ads]


def _ad(rng: np.random.RandomState) -> tuple[list[str], list[str]]:
    """Tokens and labels of one advertisement."""
    # these two first, as hardly any ad is without them; where all are used up they come again
    fields = ["SIZE", "RENT", *rng.permutation(OPTIONAL)]
    length = rng.randint(30, 57)
    phrases: list[tuple[float, str, list[str]]] = []
    while sum(len(words) for _, _, words in phrases) < length:
        field = fields[len(phrases) % len(fields)]
        phrases.append(
            (
                # so noisy that neighbouring fields often change places, and first and last ones
                # seldom
                POSITIONS[field] + 2 * rng.standard_normal(),
                field,
                _expand(f"<{field}>", rng).split(),
            )
        )
    separator = SEPARATORS[rng.randint(len(SEPARATORS))]
    tokens: list[str] = []
    labels: list[str] = []
    for _, field, words in sorted(phrases):
        if not tokens or tokens[-1] in (".", "!"):
            words[0] = words[0].capitalize()
        tokens += words
        labels += (
            ["O"] * len(words)
            if field == "O"
            else [f"B-{field}"] + [f"I-{field}"] * (len(words) - 1)
        )
        if separator and rng.random_sample() < 0.8:
            tokens.append(separator)
            labels.append("O")
    return tokens, labels


def _expand(text: str, rng: np.random.RandomState) -> str:
    """Replace names by one of their choices, the first ones most often, and then # by digits."""

    def choose(match: re.Match[str]) -> str:
        choices = RULES[match[1]]
        return _expand(choices[int(len(choices) * rng.random_sample() ** 1.5)], rng)

    return re.sub("#", lambda _: str(rng.randint(1, 10)), re.sub("<([^>]+)>", choose, text))
